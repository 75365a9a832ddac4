// SPDX-License-Identifier: Apache-2.0
//
// pthread_cancel() of threads inside of the driver; test_life_cycle.cpp cancels those that wait for the host.
#include <functional>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze_test.h"

using Wait = std::function<void()>;

static pthread_t start(const Wait &wait) {
    pthread_t thread;
    CHECK(!pthread_create(
        &thread, nullptr,
        [](void *body) -> void * {
            (*static_cast<const Wait *>(body))();
            return nullptr;
        },
        const_cast<Wait *>(&wait)));
    return thread;
}

/// Cancels a thread that calls `wait`. Nothing but the cancellation ends the wait.
static void cancel(const Wait &wait) {
    const pthread_t thread = start(wait);
    CHECK(!pthread_cancel(thread));
    void *result = nullptr;
    CHECK(!pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

/// While a kernel runs, the thread waits inside the OpenCL runtime and must not be cancelled there.
/// The cancellation takes effect afterwards.
TEST(cancel_in_runtime) {
    const auto kernel = make_kernel("add_one");
    const auto value = shared<int>(64 * sizeof(int));
    std::memset(value, 0, 64 * sizeof(int));
    set_arg(kernel, 0, value);
    for (int i = 1; i <= 200; i++) {
        launch(list, kernel, 1, 64);
        const Wait wait = [&] {
            ze.zeCommandListHostSynchronize(list, UINT64_MAX);
            pause(); // the kernel may be quicker than the cancellation
        };
        cancel(wait);
        finish(list);
        CHECK(value[0] == i);
    }
}

/// A function of the program that the driver calls, and which calls the driver.
static void call_driver(void *event) {
    NOT_READY(ze.zeEventQueryStatus(static_cast<ze_event_handle_t>(event)));
}

/// A thread that has left the driver can be cancelled as before, also after a call inside of a call. In a
/// child of fork(), the thread that appends a function calls it.
TEST(leave_nested_calls) {
    const auto event = make_event();
    CHECK(in_child([&] {
              append(ze.zeCommandListAppendHostFunction, list, call_driver, ze_event_handle_t(event),
                     nullptr);
              int state = PTHREAD_CANCEL_DISABLE;
              CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state) && state == PTHREAD_CANCEL_ENABLE);
          }) == 0);
}

/// A thread that has disabled cancellation is not cancelled.
TEST(disabled) {
    const auto event = make_event();
    int from = 5, to = 0;
    OK(ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, nullptr, 1, &event));
    const Wait stubborn = [&] {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        OK(ze.zeCommandListHostSynchronize(list, UINT64_MAX));
        CHECK(to == 5);
    };
    const pthread_t thread = start(stubborn);
    CHECK(!pthread_cancel(thread));
    OK(ze.zeEventHostSignal(event));
    void *result = PTHREAD_CANCELED;
    CHECK(!pthread_join(thread, &result) && !result);
    finish(list);
}

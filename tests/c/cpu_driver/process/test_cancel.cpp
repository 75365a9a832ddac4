// SPDX-License-Identifier: Apache-2.0
// pthread_cancel() of threads inside of the driver; test_life_cycle.cpp cancels those that wait for the host,
// c/life/test_cancellation.cpp those that have disabled it.
#include <functional>

#include <pthread.h>

#include "ze_test.h"

using Wait = std::function<void()>;

/// Cancels a thread that calls `wait`. Nothing but the cancellation ends the wait.
static void cancel(const Wait &wait) {
    pthread_t thread;
    CHECK(!pthread_create(
        &thread, nullptr,
        [](void *body) -> void * {
            (*static_cast<const Wait *>(body))();
            return nullptr;
        },
        const_cast<Wait *>(&wait)));
    CHECK(!pthread_cancel(thread));
    void *result = nullptr;
    CHECK(!pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

/// While a kernel runs, the thread waits inside the OpenCL runtime and must not be cancelled there.
/// The cancellation takes effect afterwards.
TEST(cancel_in_runtime) {
    const auto kernel = make_kernel("add_one");
    const auto value = zeros<int>(64 * sizeof(int));
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

// SPDX-License-Identifier: Apache-2.0
// pthread_cancel() ends threads inside the library. The process goes on, nothing is left half done, and other
// threads can use the same objects. Linked with libzemm's objects.
//   test_cancellation refusing_driver.so
#include <algorithm>
#include <atomic>

#include <pthread.h>

#include "asleep.h"
#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "product.hpp"
#include "refusing_driver.h"

namespace {

pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, nullptr, body, argument));
    return thread;
}

void *result_of(pthread_t thread) {
    void *result = nullptr;
    CHECK(!pthread_join(thread, &result));
    return result;
}

// A thread that has disabled cancellation is not cancelled before it enables it again.
void test_disabled() {
    static std::atomic<pid_t> id;
    static std::atomic<bool> has_waited;
    const product work;
    const gate closed(*zemm_engine_t(work.engine)->device);
    work.execute(closed.event());
    const pthread_t thread = start(
        [](void *stream) -> void * {
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
            id = gettid();
            OK(zemm_stream_wait(static_cast<zemm_stream_t>(stream)));
            has_waited = true;
            int before = PTHREAD_CANCEL_ENABLE;
            pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
            CHECK(before == PTHREAD_CANCEL_DISABLE);
            pthread_testcancel();
            return nullptr;
        },
        work.stream);
    while (!id)
        sched_yield();
    wait_until_asleep(id);
    CHECK(!pthread_cancel(thread));
    closed.open();
    CHECK(result_of(thread) == PTHREAD_CANCELED && has_waited && work.is_done());
}

void work_once() {
    const product work; // unwinding the thread destroys it
    work.execute();
    OK(zemm_stream_wait(work.stream));
    CHECK(work.is_done());
}

// Cancels a thread anywhere in the library, many times. Without protection, it would be cancelled where it
// writes the log or files of the cache.
void test_anywhere(int (*count_live)()) {
    static std::atomic<int> rounds;
    int before = 0;
    OK(zemm_set_verbose(2));
    for (int i = 0; i < 60; i++) {
        const int seen = rounds;
        const pthread_t thread = start(
            [](void *) -> void * {
                for (;; ++rounds)
                    work_once();
            },
            nullptr);
        if (i % 2) // otherwise the thread is cancelled right at its start
            while (rounds < seen + i)
                sched_yield();
        CHECK(!pthread_cancel(thread) && result_of(thread) == PTHREAD_CANCELED);
        work_once();
        if (i < 2)
            before = count_live();
        CHECK(count_live() == before);
    }
}

struct unknown {};

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    CHECK(freopen("/dev/null", "w", stdout));
    REFUSED(zemm_runtime_error, "unknown", zemm::guard([] { throw unknown(); }));
    cpu(); // keeps the device
    test_disabled();
    test_anywhere(refusing_driver(argv[1]).count_live);
}

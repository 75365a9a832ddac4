// SPDX-License-Identifier: Apache-2.0
// pthread_cancel() ends threads inside the library. The process goes on, nothing is left half done,
// and other threads can use the same objects. Linked with libzemm's objects.
//   test_cancellation refusing_driver.so
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include <pthread.h>

#include "destroy.h"
#include "gate.h"
#include "primitive/objects.hpp"
#include "refusing_driver.h"
#include "zemm/zemm_ze.h"

namespace {

zemm_engine_t engine;
zemm_memory_desc_t md;
zemm_primitive_desc_t pd;
constexpr zemm_dim_t n = 4;

constexpr float ones[n * n] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// A product of matrices of ones, with its stream. Unwinding the thread destroys it.
struct call {
    call() {
        OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
        OK(zemm_primitive_create(&primitive, pd));
        OK(zemm_memory_create(&in, md, engine, const_cast<float *>(ones)));
        OK(zemm_memory_create(&out, md, engine, ZEMM_MEMORY_ALLOCATE));
    }
    ~call() { DESTROY(in, out, primitive, stream); }
    void execute(const ze_event_handle_t *event = nullptr) const {
        const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, in}, {ZEMM_ARG_WEIGHTS, in}, {ZEMM_ARG_DST, out}};
        OK(zemm_ze_interop_primitive_execute(primitive, stream, 3, args, event ? 1 : 0, event, nullptr));
    }
    void check() const {
        void *mapped = nullptr;
        OK(zemm_memory_map_data(out, &mapped));
        for (int i = 0; i < n * n; i++)
            CHECK(static_cast<const float *>(mapped)[i] == float(n));
        OK(zemm_memory_unmap_data(out, mapped));
    }

    zemm_stream_t stream = nullptr;
    zemm_primitive_t primitive = nullptr;
    zemm_memory_t in = nullptr, out = nullptr;
};

pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, nullptr, body, argument));
    return thread;
}

void cancel(pthread_t thread) {
    CHECK(!pthread_cancel(thread));
    void *result = nullptr;
    CHECK(!pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
}

// A thread that has disabled cancellation is not cancelled.
void test_disabled() {
    const gate closed(*engine->device);
    const call c;
    c.execute(closed.event());
    const pthread_t thread = start(
        [](void *stream) -> void * {
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
            OK(zemm_stream_wait(static_cast<zemm_stream_t>(stream)));
            int before = PTHREAD_CANCEL_ENABLE;
            pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
            CHECK(before == PTHREAD_CANCEL_DISABLE);
            pthread_testcancel();
            return nullptr;
        },
        c.stream);
    CHECK(!pthread_cancel(thread));
    closed.open();
    void *result = nullptr;
    CHECK(!pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
    c.check();
}

// Cancels a thread anywhere in the library, many times. Without protection, it would be cancelled
// where it writes the log or files of the cache.
std::atomic<int> rounds;

void *work(void *) {
    for (;;) {
        const call c;
        c.execute();
        OK(zemm_stream_wait(c.stream));
        c.check();
        ++rounds;
    }
}

void test_anywhere(int (*count_live)()) {
    int before = 0;
    OK(zemm_set_verbose(2));
    for (int i = 0; i < 60; i++) {
        const int seen = rounds;
        const pthread_t thread = start(work, nullptr);
        if (i % 2) // otherwise the thread is cancelled right at its start
            while (rounds < seen + i)
                sched_yield();
        cancel(thread);
        const call c;
        c.execute();
        OK(zemm_stream_wait(c.stream));
        c.check();
        if (i < 2)
            before = count_live();
        CHECK(count_live() == before);
    }
}

struct unknown {};

void test_unknown_exception() {
    CHECK(zemm::guard([] { throw unknown(); }) == zemm_runtime_error);
    CHECK(std::strstr(zemm_last_error(), "unknown"));
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    setenv("ZEMM_CPU_DRIVER", argv[1], 1);
    CHECK(freopen("/dev/null", "w", stdout));
    test_unknown_exception();
    if (!zemm_engine_get_count(zemm_cpu))
        return SKIP;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    const zemm_dims_t dims = {n, n};
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
    OK(zemm_matmul_primitive_desc_create(&pd, engine, md, md, nullptr, md, nullptr));
    test_disabled();
    test_anywhere(refusing_driver(argv[1]).count_live);
    DESTROY(pd, md, engine);
}

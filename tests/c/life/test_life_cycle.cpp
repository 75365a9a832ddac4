// SPDX-License-Identifier: Apache-2.0
// Every call that waits for the work of a stream x what may happen meanwhile: the thread is cancelled, the
// process forks, the process exits, the objects of the work are destroyed. docs/reliability.md has the
// table; c/cpu_driver/process/test_life_cycle.cpp has the driver's calls. Linked with libzemm's objects.
#include <atomic>
#include <cstring>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "destroy.h"
#include "gate.h"
#include "primitive/objects.hpp"
#include "zemm/zemm_ze.h"

namespace {

constexpr zemm_dim_t n = 4;
constexpr float ones[n * n] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// A product of matrices of ones, which begins when the gate opens.
struct work {
    zemm_engine_t engine = nullptr;
    zemm_stream_t stream = nullptr;
    std::shared_ptr<zemm_engine> keeps; // the gate needs the driver's context
    std::unique_ptr<gate> closed;
    float result[n * n] = {};

    explicit work(unsigned flags) {
        const zemm_dims_t dims = {n, n};
        zemm_memory_desc_t md = nullptr;
        zemm_primitive_desc_t pd = nullptr;
        OK(zemm_engine_create(&engine, zemm_cpu, 0));
        keeps = engine->shared_from_this();
        closed = std::make_unique<gate>(*engine->device);
        OK(zemm_stream_create(&stream, engine, flags));
        OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
        OK(zemm_matmul_primitive_desc_create(&pd, engine, md, md, nullptr, md, nullptr));
        OK(zemm_primitive_create(&primitive_, pd));
        OK(zemm_memory_create(&in_, md, engine, const_cast<float *>(ones)));
        OK(zemm_memory_create(&out_, md, engine, result));
        const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, in_}, {ZEMM_ARG_WEIGHTS, in_}, {ZEMM_ARG_DST, out_}};
        OK(zemm_ze_interop_primitive_execute(primitive_, stream, 3, args, 1, closed->event(), nullptr));
        DESTROY(pd, md);
    }
    bool is_done() const {
        for (const float value : result)
            if (value != float(n))
                return false;
        return true;
    }
    void destroy_objects() { DESTROY(engine, primitive_, in_, out_); }

private:
    zemm_primitive_t primitive_ = nullptr;
    zemm_memory_t in_ = nullptr, out_ = nullptr;
};

struct kind {
    const char *name;
    unsigned flags; // of the stream
    zemm_status_t (*wait)(zemm_stream_t);
    bool can_be_cancelled; // else the cancellation is put off until the call returns
    bool destroys;
};

const kind kinds[] = {
    {"zemm_stream_wait", zemm_stream_default_flags, zemm_stream_wait, true, false},
    {"zemm_query_profiling_data", zemm_stream_in_order | zemm_stream_profiling,
     [](zemm_stream_t stream) {
         int entries = 0;
         return zemm_query_profiling_data(stream, zemm_profiling_data_kind_time, &entries, nullptr);
     },
     false, false},
    {"zemm_stream_destroy", zemm_stream_default_flags, zemm_stream_destroy, false, true},
};

// A thread that waits. zemm_last_impl_reached: the call has not returned.
struct waiting : sleeping_thread<zemm_status_t> {
    waiting(const kind &k, work &w, int cancel_type = PTHREAD_CANCEL_DEFERRED)
        : sleeping_thread([wait = k.wait, stream = w.stream] { return wait(stream); }, zemm_last_impl_reached,
                          cancel_type) {}
};

void finish(const kind &k, work &w) {
    if (!k.destroys)
        OK(zemm_stream_wait(w.stream));
    CHECK(w.is_done());
    if (!k.destroys)
        OK(zemm_stream_destroy(w.stream));
}

void cancel(const kind &k, work &w, int type) {
    waiting thread(k, w, type);
    thread.cancel();
    if (!k.can_be_cancelled)
        w.closed->open();
    const auto [status, cancelled] = thread.join();
    const bool returns = !k.can_be_cancelled && type == PTHREAD_CANCEL_DEFERRED;
    CHECK(cancelled && status == (returns ? zemm_success : zemm_last_impl_reached));
    if (k.can_be_cancelled)
        w.closed->open();
    finish(k, w);
    w.destroy_objects();
}

void cancel(const kind &k, work &w) {
    cancel(k, w, PTHREAD_CANCEL_DEFERRED);
}

// The thread has said that it may be cancelled at any instruction. The library still chooses where.
void cancel_asynchronously(const kind &k, work &w) {
    cancel(k, w, PTHREAD_CANCEL_ASYNCHRONOUS);
}

// The child has a copy of the work, and may wait for it, too.
void fork(const kind &k, work &w) {
    waiting thread(k, w);
    const pid_t child = ::fork();
    if (!child) {
        alarm(60);
        w.closed->open();
        OK(zemm_stream_wait(w.stream));
        CHECK(w.is_done());
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(!w.is_done());
    w.closed->open();
    OK(thread.join().first);
    finish(k, w);
    w.destroy_objects();
}

void destroy(const kind &k, work &w) {
    waiting thread(k, w);
    w.destroy_objects();
    w.closed->open();
    OK(thread.join().first);
    finish(k, w);
}

// Static, so that exit() joins the thread after it has ended the driver.
struct at_exit {
    const kind *k = nullptr;
    std::unique_ptr<waiting> thread;
    ~at_exit() {
        if (!thread)
            return;
        const zemm_status_t status = thread->join().first;
        _exit(status == (k->destroys ? zemm_success : zemm_runtime_error) ? 40 : 1);
    }
} ending;

// exit() needs a process of its own for each case. It opens the driver after the fork.
void test_exit(const kind &k) {
    const pid_t child = ::fork();
    if (!child) {
        alarm(60);
        auto &w = *new work(k.flags);
        ending.k = &k;
        ending.thread = std::make_unique<waiting>(k, w);
        std::exit(40);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 40)
        std::fprintf(stderr, "%s: exit ended with status 0x%x\n", k.name, status);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40);
}

} // namespace

int main() {
    const pid_t asks = ::fork();
    if (!asks)
        _exit(zemm_engine_get_count(zemm_cpu) ? 0 : SKIP);
    int status = -1;
    CHECK(waitpid(asks, &status, 0) == asks && WIFEXITED(status));
    if (WEXITSTATUS(status))
        return WEXITSTATUS(status);
    for (const kind &k : kinds)
        test_exit(k);
    for (const kind &k : kinds)
        for (void (*happens)(const kind &, work &) : {cancel, cancel_asynchronously, fork, destroy}) {
            work w(k.flags);
            happens(k, w);
        }
}

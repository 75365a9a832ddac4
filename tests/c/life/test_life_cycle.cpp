// SPDX-License-Identifier: Apache-2.0
// Every call that waits for the work of a stream x what may happen meanwhile: the thread is cancelled, the
// process forks, the process exits, the objects of the work are destroyed. docs/reliability.md has the
// table; c/cpu_driver/process/test_life_cycle.cpp has the driver's calls. Linked with libzemm's objects.
#include <algorithm>
#include <memory>

#include "asleep.h"
#include "child.h"
#include "primitive/objects.hpp"
#include "product.hpp"

namespace {

// The product begins when the gate opens.
struct work : product {
    std::shared_ptr<zemm_engine> keeps = zemm_engine_t(engine)->shared_from_this(); // for the gate's context
    gate closed{*keeps->device};

    explicit work(unsigned flags) : product(flags) { execute(closed.event()); }
    void destroy_objects() {
        engine.end();
        primitive.end();
        in.end();
        out.end();
    }
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
        : sleeping_thread([wait = k.wait, stream = zemm_stream_t(w.stream)] { return wait(stream); },
                          zemm_last_impl_reached, cancel_type) {}
};

void finish(const kind &k, work &w) {
    if (k.destroys)
        w.stream.object = nullptr;
    else
        OK(zemm_stream_wait(w.stream));
    CHECK(w.is_done());
}

// A thread may have said that it may be cancelled at any instruction. The library still chooses where.
template <int type> void cancel(const kind &k, work &w) {
    waiting thread(k, w, type);
    thread.cancel();
    if (!k.can_be_cancelled)
        w.closed.open();
    const auto [status, cancelled] = thread.join();
    const bool returns = !k.can_be_cancelled && type == PTHREAD_CANCEL_DEFERRED;
    CHECK(cancelled && status == (returns ? zemm_success : zemm_last_impl_reached));
    if (k.can_be_cancelled)
        w.closed.open();
    finish(k, w);
}

// The child has a copy of the work, and may wait for it, too.
void fork(const kind &k, work &w) {
    waiting thread(k, w);
    CHECK(in_child([&] {
              w.closed.open();
              OK(zemm_stream_wait(w.stream));
              CHECK(w.is_done());
          }) == 0);
    CHECK(!w.is_done());
    w.closed.open();
    OK(thread.join().first);
    finish(k, w);
}

void destroy(const kind &k, work &w) {
    waiting thread(k, w);
    w.destroy_objects();
    w.closed.open();
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
    const int status = in_child([&] {
        auto &w = *new work(k.flags);
        ending.k = &k;
        ending.thread = std::make_unique<waiting>(k, w);
        std::exit(40);
    });
    if (exit_code(status) != 40)
        std::fprintf(stderr, "%s: exit ended with status 0x%x\n", k.name, status);
    CHECK(exit_code(status) == 40);
}

} // namespace

int main() {
    if (in_child([] { _exit(zemm_engine_get_count(zemm_cpu) ? 0 : SKIP); }))
        return SKIP;
    for (const kind &k : kinds)
        test_exit(k);
    for (const kind &k : kinds)
        for (void (*happens)(const kind &, work &) :
             {cancel<PTHREAD_CANCEL_DEFERRED>, cancel<PTHREAD_CANCEL_ASYNCHRONOUS>, fork, destroy}) {
            work w(k.flags);
            happens(k, w);
        }
}

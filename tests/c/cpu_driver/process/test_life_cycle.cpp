// SPDX-License-Identifier: Apache-2.0
// Every kind of wait of a host thread x what may happen meanwhile: the thread is cancelled, the process
// forks, the process exits, the objects are destroyed. docs/reliability.md has the table.
#include <memory>

#include "asleep.h"
#include "ze_test.h"

namespace {

constexpr uint64_t forever = UINT64_MAX, hour = 3'600'000'000'000;

constexpr ze_event_pool_flags_t visible = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                ipc = visible | ZE_EVENT_POOL_FLAG_IPC;

/// Work that begins when the test opens the gate: a copy of a number. A thread waits for it.
struct Work {
    const uint64_t timeout;
    Owned<ze_event_pool_handle_t> gates, targets; // pools
    Owned<ze_event_handle_t> gate, target;
    Owned<ze_command_list_handle_t> list;
    Owned<ze_command_queue_handle_t> queue;
    Owned<ze_fence_handle_t> fence;
    Owned<int *> freed;
    int from = 5, to = 0;

    Work(uint64_t its_timeout, ze_event_pool_flags_t gate_flags)
        : timeout(its_timeout), gates(make_pool(1, gate_flags)), gate(make_event(gates, 0)) {}
    ze_result_t append() {
        return ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, target, 1, &gate);
    }
    ze_result_t execute() { return ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, fence); }
    void make_queue(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) {
        queue = ::make_queue(mode);
        list = regular_list();
        OK(append());
        OK(ze.zeCommandListClose(list));
    }
    void append_to_new_list() {
        list = immediate_list();
        OK(append());
    }
    void open() { OK(ze.zeEventHostSignal(gate)); }
    void finish() {
        OK(queue ? ze.zeCommandQueueSynchronize(queue, forever)
                 : ze.zeCommandListHostSynchronize(list, forever));
    }
    /// Destroys what the thread waits for, except the gate.
    void destroy_waited_for() {
        fence.end();
        target.end();
        targets.end();
    }
    void destroy_streams() {
        fence.end();
        list.end();
        queue.end();
    }
    ~Work() {
        destroy_waited_for();
        destroy_streams();
    }
};

struct CounterBasedPool { // ze_event_pool_counter_based_exp_desc_t
    uint32_t stype = 0x20014;
    const void *next = nullptr;
    uint32_t flags = 3;
} const counter_based;

ze_result_t wait_for_event(Work &w) {
    return ze.zeEventHostSynchronize(w.target, w.timeout);
}
ze_result_t wait_for_list(Work &w) {
    return ze.zeCommandListHostSynchronize(w.list, w.timeout);
}
void append(Work &w) {
    w.append_to_new_list();
}
template <ze_event_pool_flags_t flags, auto *next = static_cast<const CounterBasedPool *>(nullptr)>
void append_with_event(Work &w) {
    w.targets = make_pool(1, flags, next);
    w.target = make_event(w.targets, 0);
    w.append_to_new_list();
}

struct Kind {
    const char *name;
    void (*make)(Work &);        // everything but the gate and the wait
    ze_result_t (*wait)(Work &); // blocks until the gate is open
    enum {
        ended_by_work = 1, // a wait for an event or fence goes on when its handle is destroyed; else it ends
        shares_state = 2,  // with a child of fork(): what the child signals is signalled in the parent
        only_direct = 4,   // loaders are too old
        has_no_timeout = 8,
        submits = 16, // the wait is part of the call that submits the work
    };
    int traits;
    ze_event_pool_flags_t gate_flags = visible;
};

const Kind kinds[] = {
    {"zeEventHostSynchronize", append_with_event<visible>, wait_for_event, Kind::ended_by_work},
    {"zeEventHostSynchronize, IPC pool", append_with_event<ipc>, wait_for_event,
     Kind::ended_by_work | Kind::shares_state},
    {"zeEventHostSynchronize, counter-based", append_with_event<visible, &counter_based>, wait_for_event,
     Kind::ended_by_work},
    {"zeFenceHostSynchronize",
     [](Work &w) {
         w.make_queue();
         const ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
         w.fence = made(ze.zeFenceCreate, w.queue, &desc);
         OK(w.execute());
     },
     [](Work &w) { return ze.zeFenceHostSynchronize(w.fence, w.timeout); }, Kind::ended_by_work},
    {"zeCommandQueueSynchronize",
     [](Work &w) {
         w.make_queue();
         OK(w.execute());
     },
     [](Work &w) { return ze.zeCommandQueueSynchronize(w.queue, w.timeout); }, 0},
    {"zeCommandListHostSynchronize", append, wait_for_list, 0},
    {"zeCommandListHostSynchronize, list that waits for an event of an IPC pool", append, wait_for_list,
     Kind::shares_state, ipc},
    {"append to a synchronous list",
     [](Work &w) { w.list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS); },
     [](Work &w) { return w.append(); }, Kind::has_no_timeout | Kind::submits},
    {"zeCommandQueueExecuteCommandLists, synchronous queue",
     [](Work &w) { w.make_queue(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS); }, [](Work &w) { return w.execute(); },
     Kind::has_no_timeout | Kind::submits},
    {"zeMemFreeExt that waits",
     [](Work &w) {
         w.freed = shared<int>(64);
         w.append_to_new_list();
     },
     [](Work &w) {
         const ze_memory_free_ext_desc_t desc{ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                              ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
         const ze_result_t result = ze.zeMemFreeExt(context, &desc, w.freed);
         w.freed.release();
         return result;
     },
     Kind::has_no_timeout},
    {"zeDeviceSynchronize", append, [](Work &) { return ze.zeDeviceSynchronize(device); },
     Kind::only_direct | Kind::has_no_timeout},
};

/// A thread that waits. ZE_RESULT_ERROR_UNKNOWN: the call has not returned.
struct Waiting : sleeping_thread<ze_result_t> {
    Waiting(const Kind &kind, Work &work, int cancel_type = PTHREAD_CANCEL_DEFERRED)
        : sleeping_thread([wait = kind.wait, &work] { return wait(work); }, ZE_RESULT_ERROR_UNKNOWN,
                          cancel_type) {}
};

/// The wait ends, what the thread waited for stays as it is. A thread may have said that it may be cancelled
/// at any instruction; the driver still chooses where.
template <int type> void cancel(const Kind &kind, Work &w) {
    Waiting thread(kind, w, type);
    thread.cancel();
    CHECK(thread.join() == std::pair(ZE_RESULT_ERROR_UNKNOWN, true));
    CHECK(w.to == 0);
    w.open();
    w.finish();
    CHECK(w.to == 5);
}

/// The wait goes on in the parent. The child has a copy of the work, and may wait for it, too.
void fork(const Kind &kind, Work &w) {
    Waiting waiting(kind, w);
    CHECK(in_child([&] {
              w.open();
              if (!(kind.traits & Kind::submits))
                  OK(kind.wait(w));
              w.finish();
              CHECK(w.to == 5);
          }) == 0);
    CHECK(w.to == 0 || kind.traits & Kind::shares_state);
    w.open();
    OK(waiting.join().first);
    w.finish();
    CHECK(w.to == 5);
}

/// A wait for a stream ends, because its work will never run. A wait for an event or a fence goes on until
/// the work has signalled it.
void destroy(const Kind &kind, Work &w) {
    Waiting waiting(kind, w);
    if (kind.traits & Kind::ended_by_work) {
        w.destroy_waited_for();
        w.open();
        OK(waiting.join().first);
        CHECK(w.to == 5);
    } else {
        w.destroy_streams();
        OK(waiting.join().first);
        CHECK(w.to == 0);
    }
}

/// Static, so that exit() joins the thread after it has ended the driver.
struct AtExit {
    std::unique_ptr<Waiting> waiting;
    ~AtExit() {
        if (waiting)
            _exit(waiting->join().first == ZE_RESULT_ERROR_UNINITIALIZED ? 40 : 1);
    }
} at_exit;

/// The wait ends with ZE_RESULT_ERROR_UNINITIALIZED. `joins`: the program waits for its thread.
[[noreturn]] void exit(const Kind &kind, Work &w, bool joins) {
    auto waiting = std::make_unique<Waiting>(kind, w);
    if (joins)
        at_exit.waiting = std::move(waiting);
    else
        waiting.release();
    std::exit(40);
}

/// exit() needs a process of its own for each case. It opens the driver after the fork.
int exits(int argc, char **argv) {
    for (const Kind &kind : kinds)
        for (const bool joins : {true, false}) {
            const int status = in_child([&] {
                open_driver(argc, argv);
                auto &w = *new Work(forever, kind.gate_flags); // static destructors may still look at it
                kind.make(w);
                exit(kind, w, joins);
            });
            if (exit_code(status) == 77)
                return 77;
            if (exit_code(status) != 40)
                std::printf("%s: exit %s ended with status 0x%x\n", kind.name, joins ? "and join" : "",
                            status);
            CHECK(exit_code(status) == 40);
        }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    // A loader ends with the process and does not refuse the calls of other threads.
    if (argc < 2 || std::string(argv[1]) == "direct")
        if (const int skip = exits(argc, argv))
            return skip;
    open_driver(argc, argv);
    for (const Kind &kind : kinds)
        for (const uint64_t timeout : {forever, hour}) {
            if ((kind.traits & Kind::has_no_timeout && timeout != forever) ||
                (kind.traits & Kind::only_direct && !direct))
                continue;
            std::printf("%s\n", kind.name);
            for (void (*happens)(const Kind &, Work &) :
                 {cancel<PTHREAD_CANCEL_DEFERRED>, cancel<PTHREAD_CANCEL_ASYNCHRONOUS>, fork, destroy}) {
                Work w(timeout, kind.gate_flags);
                kind.make(w);
                happens(kind, w);
            }
        }
    OK(ze.zeContextDestroy(context));
}

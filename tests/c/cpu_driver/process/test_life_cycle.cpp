// SPDX-License-Identifier: Apache-2.0
//
// Every kind of wait of a host thread x what may happen meanwhile: the thread is cancelled, the process
// forks, the process exits, the objects are destroyed. docs/reliability.md has the table.
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "ze_test.h"

namespace {

constexpr uint64_t forever = UINT64_MAX, hour = 3'600'000'000'000;

/// Work that begins when the test opens the gate: a copy of a number. A thread waits for it.
struct Work {
    uint64_t timeout = forever;
    ze_event_pool_handle_t gates = nullptr, targets = nullptr; // pools
    ze_event_handle_t gate = nullptr, target = nullptr;
    ze_command_list_handle_t list = nullptr;
    ze_command_queue_handle_t queue = nullptr;
    ze_fence_handle_t fence = nullptr;
    void *freed = nullptr;
    int from = 5, to = 0;

    void make_gate(ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE) {
        gates = make_pool(1, flags).release();
        gate = make_event(gates, 0).release();
    }
    void make_target(ze_event_pool_flags_t flags, const void *next = nullptr) {
        const ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, next, flags, 1};
        OK(ze.zeEventPoolCreate(context, &desc, 1, &device, &targets));
        target = make_event(targets, 0).release();
    }
    ze_result_t append() {
        return ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, target, 1, &gate);
    }
    ze_result_t execute() { return ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, fence); }
    void make_list(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) {
        list = immediate_list(mode).release();
    }
    void make_queue(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) {
        queue = ::make_queue(mode).release();
        list = regular_list().release();
        OK(append());
        OK(ze.zeCommandListClose(list));
    }
    void open() { OK(ze.zeEventHostSignal(gate)); }
    void finish() {
        OK(queue ? ze.zeCommandQueueSynchronize(queue, forever)
                 : ze.zeCommandListHostSynchronize(list, forever));
    }
    /// Destroys what the thread waits for, except the gate.
    void destroy_waited_for() {
        if (fence)
            OK(ze.zeFenceDestroy(fence));
        if (target)
            OK(ze.zeEventDestroy(target));
        if (targets)
            OK(ze.zeEventPoolDestroy(targets));
        fence = nullptr, target = nullptr, targets = nullptr;
    }
    void destroy_streams() {
        if (list)
            OK(ze.zeCommandListDestroy(list));
        if (queue)
            OK(ze.zeCommandQueueDestroy(queue));
        list = nullptr, queue = nullptr;
    }
    void destroy() {
        destroy_waited_for();
        destroy_streams();
        ::destroy(gate);
        ::destroy(gates);
    }
};

constexpr ze_event_pool_flags_t visible = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                ipc = visible | ZE_EVENT_POOL_FLAG_IPC;
constexpr ze_command_queue_mode_t synchronous = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;

struct CounterBasedPool { // ze_event_pool_counter_based_exp_desc_t
    uint32_t stype = 0x20014;
    const void *next = nullptr;
    uint32_t flags = 3;
};

ze_result_t wait_for_event(Work &w) {
    return ze.zeEventHostSynchronize(w.target, w.timeout);
}

void make_event_of(Work &w, ze_event_pool_flags_t flags, const void *next = nullptr) {
    w.make_gate();
    w.make_target(flags, next);
    w.make_list();
    OK(w.append());
}

struct Kind {
    const char *name;
    void (*make)(Work &);        // everything but the wait
    ze_result_t (*wait)(Work &); // blocks until the gate is open
    enum {
        ended_by_work = 1, // a wait for an event or fence goes on when its handle is destroyed; else it ends
        shares_state = 2,  // with a child of fork(): what the child signals is signalled in the parent
        only_direct = 4,   // loaders are too old
        has_no_timeout = 8,
        submits = 16, // the wait is part of the call that submits the work
    };
    int traits;
};

const Kind kinds[] = {
    {"zeEventHostSynchronize", [](Work &w) { make_event_of(w, visible); }, wait_for_event,
     Kind::ended_by_work},
    {"zeEventHostSynchronize, IPC pool", [](Work &w) { make_event_of(w, ipc); }, wait_for_event,
     Kind::ended_by_work | Kind::shares_state},
    {"zeEventHostSynchronize, counter-based",
     [](Work &w) {
         const CounterBasedPool next;
         make_event_of(w, visible, &next);
     },
     wait_for_event, Kind::ended_by_work},
    {"zeFenceHostSynchronize",
     [](Work &w) {
         w.make_gate();
         w.make_queue();
         const ze_fence_desc_t desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
         OK(ze.zeFenceCreate(w.queue, &desc, &w.fence));
         OK(w.execute());
     },
     [](Work &w) { return ze.zeFenceHostSynchronize(w.fence, w.timeout); }, Kind::ended_by_work},
    {"zeCommandQueueSynchronize",
     [](Work &w) {
         w.make_gate();
         w.make_queue();
         OK(w.execute());
     },
     [](Work &w) { return ze.zeCommandQueueSynchronize(w.queue, w.timeout); }, 0},
    {"zeCommandListHostSynchronize",
     [](Work &w) {
         w.make_gate();
         w.make_list();
         OK(w.append());
     },
     [](Work &w) { return ze.zeCommandListHostSynchronize(w.list, w.timeout); }, 0},
    {"zeCommandListHostSynchronize, list that waits for an event of an IPC pool",
     [](Work &w) {
         w.make_gate(ipc);
         w.make_list();
         OK(w.append());
     },
     [](Work &w) { return ze.zeCommandListHostSynchronize(w.list, w.timeout); }, Kind::shares_state},
    {"append to a synchronous list",
     [](Work &w) {
         w.make_gate();
         w.make_list(synchronous);
     },
     [](Work &w) { return w.append(); }, Kind::has_no_timeout | Kind::submits},
    {"zeCommandQueueExecuteCommandLists, synchronous queue",
     [](Work &w) {
         w.make_gate();
         w.make_queue(synchronous);
     },
     [](Work &w) { return w.execute(); }, Kind::has_no_timeout | Kind::submits},
    {"zeMemFreeExt that waits",
     [](Work &w) {
         w.make_gate();
         w.make_list();
         w.freed = shared<int>(64).release();
         OK(w.append());
     },
     [](Work &w) {
         const ze_memory_free_ext_desc_t desc{ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                              ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
         return ze.zeMemFreeExt(context, &desc, w.freed);
     },
     Kind::has_no_timeout},
    {"zeDeviceSynchronize",
     [](Work &w) {
         w.make_gate();
         w.make_list();
         OK(w.append());
     },
     [](Work &) { return ze.zeDeviceSynchronize(device); }, Kind::only_direct | Kind::has_no_timeout},
};

/// A thread that waits. ZE_RESULT_ERROR_UNKNOWN: the call has not returned.
struct Waiting : sleeping_thread<ze_result_t> {
    Waiting(const Kind &kind, Work &work, int cancel_type = PTHREAD_CANCEL_DEFERRED)
        : sleeping_thread([wait = kind.wait, &work] { return wait(work); }, ZE_RESULT_ERROR_UNKNOWN,
                          cancel_type) {}
};

/// The wait ends, what the thread waited for stays as it is.
void cancel(const Kind &kind, Work &w, int type) {
    Waiting thread(kind, w, type);
    thread.cancel();
    CHECK(thread.join() == std::pair(ZE_RESULT_ERROR_UNKNOWN, true));
    CHECK(w.to == 0);
    w.open();
    w.finish();
    CHECK(w.to == 5);
    if (w.freed)
        OK(ze.zeMemFree(context, w.freed));
    w.destroy();
}

void cancel(const Kind &kind, Work &w) {
    cancel(kind, w, PTHREAD_CANCEL_DEFERRED);
}

/// The thread has said that it may be cancelled at any instruction. The driver still chooses where.
void cancel_asynchronously(const Kind &kind, Work &w) {
    cancel(kind, w, PTHREAD_CANCEL_ASYNCHRONOUS);
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
    w.destroy();
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
    w.destroy();
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
                auto &w = *new Work; // static destructors may still look at it
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
            for (void (*happens)(const Kind &, Work &) : {cancel, cancel_asynchronously, fork, destroy}) {
                Work w;
                w.timeout = timeout;
                kind.make(w);
                happens(kind, w);
            }
        }
    OK(ze.zeContextDestroy(context));
    std::puts("ok");
}

// SPDX-License-Identifier: Apache-2.0
//
// Makes fork() and exit() safe.
//
// The child of a fork has only the thread that forked. So while the process is copied, no other thread
// may hold a lock of the driver or be inside the OpenCL runtime. And no command may be under way,
// because only threads of the parent could finish it.
//
// The gate counts the threads that are inside an entry point. A fork lets no more threads in, waits
// until the others are out and the OpenCL queues are empty, and then proceeds. A thread that waits
// for something outside of the driver does not count during that wait.
//
// exit() destroys the OpenCL runtime while other threads of the program go on. Before that the gate
// waits until they are out of the driver. From then on it refuses their calls. Threads that wait inside
// of a call are also woken and refused.
#pragma once

#include <type_traits>

#include <level_zero/ze_api.h>

#include "border/border.h"
#include "cancellation.h"
#include "deadline.h"

namespace ze_cpu {

class ForkGate {
public:
    /// A thread is inside as long as it has a Pass. The constructor waits while another thread
    /// forks, unless the thread has a Pass already.
    class Pass {
    public:
        Pass() noexcept { enter(); }
        ~Pass() { leave(); }
        Pass(const Pass &) = delete;
        Pass &operator=(const Pass &) = delete;
    };
    /// Takes a thread out for a while. The thread must not hold a lock. Afterwards it calls
    /// check_still_open(). A thread with several Passes stays inside, because the driver called the
    /// program while it held a lock.
    class Pause {
    public:
        Pause() noexcept;
        ~Pause();
        Pause(const Pause &) = delete;
        Pause &operator=(const Pause &) = delete;
    };

    /// A thread that runs a function of the program for a command has one. The function may call the driver
    /// while another thread forks, because the fork waits for the command.
    class Callback {
    public:
        Callback() noexcept;
        ~Callback();
        Callback(const Callback &) = delete;
        Callback &operator=(const Callback &) = delete;
    };

    /// Calls of the gate to those who know the streams and the waiting threads.
    struct Watched {
        /// Waits until all OpenCL queues are empty, while no other thread is inside. Returns false if the
        /// deadline passes first.
        bool (*finish_queues)(const Deadline &deadline);
        /// Wakes the threads that have a Pause. They look again at what they wait for.
        void (*wake_waiting)();
        /// In a child of fork(): forgets the threads that waited in its parent.
        void (*forget_waiting)();
    };
    /// Registers the handlers of fork(). Called once, before the OpenCL runtime is opened.
    static void watch_forks(const Watched &watched);
    /// Registers the handler of exit(). Called once, after the OpenCL runtime is opened, so that it runs
    /// before the runtime's own.
    static void watch_exit();
    /// Whether this process is a child of fork(). The runtime's threads do not exist there, so a
    /// thread that enqueues a command has to run it.
    static bool is_child() noexcept;
    /// Whether the calling thread may not use the runtime: in a child whose parent had commands or
    /// threads under way when it forked, because the state of the runtime is unknown there; and while
    /// another thread ends the process.
    static bool refuses() noexcept;
    /// To be called inside, when a wait is over and before the runtime is used again. Throws
    /// ZE_RESULT_ERROR_UNINITIALIZED if another thread has begun to end the process meanwhile.
    static void check_still_open();
    /// A number that differs from that of every process that this one was forked from.
    static unsigned generation() noexcept;

private:
    static void enter() noexcept;
    static void leave() noexcept;
};

/// An entry point as the tables hold it: behind the gate, and without exceptions. Functions that return a
/// handle or a number only read constants and need no gate.
template <auto function> struct Gated;
template <class Result, class... Parameters, Result (*function)(Parameters...)> struct Gated<function> {
    static Result call(Parameters... parameters) {
        if constexpr (std::is_same_v<Result, ze_result_t>) {
            const Uncancelled until_done;
            const ForkGate::Pass pass;
            if (ForkGate::refuses())
                return ZE_RESULT_ERROR_UNINITIALIZED;
            try {
                return function(parameters...);
            } catch (...) {
                if (!std::current_exception()) // a cancelled thread unwinds, which must go on
                    throw;
                return current_error();
            }
        } else {
            return function(parameters...);
        }
    }
};

} // namespace ze_cpu

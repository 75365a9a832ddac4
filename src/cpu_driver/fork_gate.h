// SPDX-License-Identifier: Apache-2.0
//
// What fork() needs: the child has one thread, so no other may hold a lock of ours or be inside the OpenCL
// runtime when the process is copied, and nothing may run that only threads of the parent would finish.
// Threads inside of an entry point are counted; a fork lets no more in, waits until the others are out and
// the queues are empty, and goes on. A thread that waits for something outside is not counted meanwhile.
#pragma once

#include <type_traits>

#include <level_zero/ze_api.h>

#include "cancellation.h"
#include "opencl_api.h"

namespace ze_cpu {

class ForkGate {
public:
    /// A thread is inside as long as it has one. Waits while another thread forks.
    class Pass {
    public:
        Pass() noexcept { enter(); }
        ~Pass() { leave(); }
        Pass(const Pass &) = delete;
        Pass &operator=(const Pass &) = delete;
    };
    /// Outside for a while, with no lock held.
    class Pause {
    public:
        Pause() noexcept { leave(); }
        ~Pause() { enter(); }
        Pause(const Pause &) = delete;
        Pause &operator=(const Pause &) = delete;
    };

    /// Called once, before the runtime is opened.
    static void watch_forks();
    /// In a child there are no threads of the runtime: who enqueues has to run it, by finish_in_child().
    static bool is_child() noexcept;
    /// One thread at a time: the runtime may have no place for a second one.
    static void finish_in_child(cl::Queue queue);
    /// In a child whose parent could not be brought to rest: the state of the runtime is not known.
    static bool is_broken() noexcept;

private:
    static void enter() noexcept;
    static void leave() noexcept;
};

/// An entry point as it is handed out: behind the gate. Those that return a handle or a number only read what
/// never changes, and need none.
template <auto function> struct Gated;
template <class Result, class... Parameters, Result (*function)(Parameters...)> struct Gated<function> {
    static Result call(Parameters... parameters) {
        if constexpr (std::is_same_v<Result, ze_result_t>) {
            const Uncancelled until_done;
            const ForkGate::Pass pass;
            return ForkGate::is_broken() ? ZE_RESULT_ERROR_UNINITIALIZED : function(parameters...);
        } else {
            return function(parameters...);
        }
    }
};

} // namespace ze_cpu

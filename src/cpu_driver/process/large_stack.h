// SPDX-License-Identifier: Apache-2.0
//
// The stack of the calling thread. The OpenCL runtime compiles and runs kernels on the thread that calls
// it, and does not ask how much stack that thread has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ze_cpu {

/// What the runtime may take, in bytes: zemm's kernels were seen to take 166 kB.
inline constexpr size_t large_stack = size_t(512) << 10;

/// The addresses at which a frame of this thread has a large stack below it. It grows when a thread
/// asks for the first time.
struct LargeStack {
    uintptr_t first = 0;
    size_t bytes = 0;
};
inline thread_local LargeStack callers_stack;

/// Whether the calling thread has a large stack below its frame. False, too, where that is not known: on a
/// stack that the program has made itself.
bool find_large_stack();
inline bool has_large_stack() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return here - callers_stack.first < callers_stack.bytes || find_large_stack();
}

/// Calls function(argument) on a thread that lives for this call, and waits. Throws
/// ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY if none can be started. The function must not throw.
void call_on_large_stack(void (*function)(void *), void *argument);

/// Calls the function here or there.
template <class Function> auto with_large_stack(const Function &function) {
    if (has_large_stack())
        return function();
    struct Call {
        const Function &function;
        decltype(function()) result{};
    } call{function};
    call_on_large_stack(
        [](void *argument) {
            auto &there = *static_cast<Call *>(argument);
            there.result = there.function();
        },
        &call);
    return call.result;
}

} // namespace ze_cpu

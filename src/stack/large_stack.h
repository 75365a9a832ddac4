// SPDX-License-Identifier: Apache-2.0
//
// The stack of the calling thread, which may be small. The OpenCL runtime compiles and runs kernels on the
// thread that calls it, and does not ask how much stack that thread has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace stack {

/// Bytes that a call may take: kernels and the runtime were seen to take 166 kB.
inline constexpr size_t large = size_t(512) << 10;

/// The addresses at which a frame of this thread has a large stack below it.
struct Range {
    uintptr_t first = 0;
    size_t bytes = 0;
};
inline constinit thread_local Range known;

/// Looks again. False, too, where that is not known: on a stack that the program has made itself.
bool find_large();
inline bool is_large() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return here - known.first < known.bytes || find_large();
}

/// Calls function(argument), which must not throw, on a thread that lives for this call, and waits. Returns
/// "", or why no thread can be started.
std::string call_on_large(void (*function)(void *), void *argument);

/// Calls the function here if the stack is large, else there. `refuse` throws for a sentence.
template <class Function, class Refuse>
auto with_large(const Function &function, const Refuse &refuse) -> decltype(function()) {
    if (is_large()) [[likely]]
        return function();
    using Result = decltype(function());
    struct Call {
        const Function &function;
        Result result{};
        std::exception_ptr failure{};
    } call{function};
    const std::string problem = call_on_large(
        [](void *argument) {
            auto &there = *static_cast<Call *>(argument);
            try {
                there.result = there.function();
            } catch (...) {
                there.failure = std::current_exception();
            }
        },
        &call);
    if (!problem.empty())
        refuse(problem);
    if (call.failure)
        std::rethrow_exception(call.failure);
    return call.result;
}

} // namespace stack

// SPDX-License-Identifier: Apache-2.0
//
// The handlers of signals, which belong to the program and not to a library.
#pragma once

#include <csignal>

namespace ze_cpu {

/// Keeps the program's handlers during a call of the OpenCL runtime that installs its own: its LLVM
/// takes over SIGINT, SIGTERM, SIGSEGV and others, and gives back what it found when the first of
/// them comes, which undoes what the program has set since. In the meantime this thread receives
/// none of the signals that somebody sends. Handlers that another thread changes meanwhile stay.
class SignalHandlers {
public:
    /// library: any function of the library whose handlers are to go.
    explicit SignalHandlers(const void *library) noexcept;
    ~SignalHandlers();
    SignalHandlers(const SignalHandlers &) = delete;
    SignalHandlers &operator=(const SignalHandlers &) = delete;

private:
    static constexpr int end = NSIG;

    const void *library_;
    sigset_t mask_;
    struct sigaction actions_[end];
};

} // namespace ze_cpu

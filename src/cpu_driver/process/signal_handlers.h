// SPDX-License-Identifier: Apache-2.0
//
// The handlers of signals, which belong to the program and not to a library.
#pragma once

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace ze_cpu {

/// Keeps the program's handlers during a call of the OpenCL runtime that installs its own: its LLVM
/// takes over SIGINT, SIGTERM, SIGSEGV and others, and gives back what it found when the first of
/// them comes, which undoes what the program has set since. In the meantime this thread receives
/// none of the signals that somebody sends, and after a few seconds, when the call may never return,
/// a thread of this object receives them. Handlers that another thread changes meanwhile stay.
class SignalHandlers {
public:
    /// library: any function of the library whose handlers are to go.
    /// Throws std::system_error if no thread can be started.
    explicit SignalHandlers(const void *library);
    ~SignalHandlers();
    SignalHandlers(const SignalHandlers &) = delete;
    SignalHandlers &operator=(const SignalHandlers &) = delete;

private:
    static constexpr int end = NSIG;

    void receive_late();

    const void *library_;
    sigset_t mask_;
    struct sigaction actions_[end];
    std::mutex mutex_;
    std::condition_variable changed_;
    bool returned_ = false; // the call
    std::thread receiver_;
};

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#include "signal_handlers.h"

#include <chrono>
#include <initializer_list>

#include <dlfcn.h>
#include <pthread.h>

namespace ze_cpu {
namespace {

/// The address at which the library of a function or handler is loaded; null if there is none.
const void *library_of(const void *code) {
    Dl_info info{};
    return dladdr(code, &info) ? info.dli_fbase : nullptr;
}

const void *code_of(const struct sigaction &action) {
    return action.sa_flags & SA_SIGINFO ? reinterpret_cast<const void *>(action.sa_sigaction)
                                        : reinterpret_cast<const void *>(action.sa_handler);
}

constexpr std::chrono::seconds longest_call{3};

sigset_t signals_of_others() {
    sigset_t sent;
    sigemptyset(&sent);
    for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU})
        sigaddset(&sent, number);
    return sent;
}

} // namespace

SignalHandlers::SignalHandlers(const void *library) : library_(library_of(library)) {
    // A signal that comes while the runtime installs its handlers could meet none at all. Faults
    // of this thread itself must not be blocked.
    const sigset_t sent = signals_of_others();
    pthread_sigmask(SIG_BLOCK, &sent, &mask_);
    for (int number = 1; number < end; number++)
        sigaction(number, nullptr, &actions_[number]);
    sigset_t all, blocked;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &blocked); // the receiver begins with this mask
    try {
        receiver_ = std::thread([this] { receive_late(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

/// Receives what the thread that made the object would receive but for this object.
void SignalHandlers::receive_late() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, longest_call, [this] { return returned_; }))
        return;
    lock.unlock();
    sigset_t received = signals_of_others();
    for (int number = 1; number < end; number++)
        if (sigismember(&mask_, number) == 1)
            sigdelset(&received, number);
    pthread_sigmask(SIG_UNBLOCK, &received, nullptr);
    lock.lock();
    while (!returned_) // wait() would need the libstdc++ of GCC 12 (docs/install.md)
        changed_.wait_for(lock, std::chrono::hours(24));
}

SignalHandlers::~SignalHandlers() {
    {
        const std::lock_guard lock(mutex_);
        returned_ = true;
    }
    changed_.notify_one();
    receiver_.join();
    for (int number = 1; number < end; number++) {
        struct sigaction now {};
        if (sigaction(number, nullptr, &now) != 0 || code_of(now) == code_of(actions_[number]))
            continue;
        if (library_ && library_of(code_of(now)) == library_)
            sigaction(number, &actions_[number], nullptr);
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

} // namespace ze_cpu

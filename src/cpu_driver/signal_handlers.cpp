// SPDX-License-Identifier: Apache-2.0
#include "signal_handlers.h"

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

} // namespace

SignalHandlers::SignalHandlers(const void *library) noexcept : library_(library_of(library)) {
    // A signal that comes while the runtime installs its handlers could meet none at all. Faults
    // of this thread itself must not be blocked.
    sigset_t sent;
    sigemptyset(&sent);
    for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU})
        sigaddset(&sent, number);
    pthread_sigmask(SIG_BLOCK, &sent, &mask_);
    for (int number = 1; number < end; number++)
        sigaction(number, nullptr, &actions_[number]);
}

SignalHandlers::~SignalHandlers() {
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

// SPDX-License-Identifier: Apache-2.0
//
// Delays pthread_cancel(). A cancelled thread unwinds from the call in which it blocks next. That
// may be in a destructor or in the OpenCL runtime, and neither survives it. So a thread cannot be
// cancelled while it is inside the driver, except in waits that leave nothing half done.
#pragma once

#include <pthread.h>

namespace ze_cpu {

/// The cancel state that this thread had when it entered the driver. The driver's own threads
/// cannot be cancelled.
inline thread_local int callers_cancel_state = PTHREAD_CANCEL_DISABLE;

/// Disables cancellation of this thread as long as it lives. Every entry point has one. They nest: a
/// function of the program that the driver calls may call the driver.
class Uncancelled {
public:
    Uncancelled() : callers_before_(callers_cancel_state) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &callers_cancel_state);
    }
    ~Uncancelled() noexcept(false) { // a caller with PTHREAD_CANCEL_ASYNCHRONOUS may be cancelled here
        const int state = callers_cancel_state;
        callers_cancel_state = callers_before_;
        pthread_setcancelstate(state, nullptr);
    }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;

private:
    const int callers_before_;
};

/// Allows cancellation again, if the caller allowed it, during a wait that leaves nothing half
/// done. The wait itself is the only point where it takes effect, also if the caller has chosen
/// PTHREAD_CANCEL_ASYNCHRONOUS.
class Cancellable {
public:
    Cancellable() {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &callers_type_);
        pthread_setcancelstate(callers_cancel_state, nullptr);
        pthread_testcancel();
    }
    ~Cancellable() {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        pthread_setcanceltype(callers_type_, nullptr);
    }
    Cancellable(const Cancellable &) = delete;
    Cancellable &operator=(const Cancellable &) = delete;

private:
    int callers_type_ = PTHREAD_CANCEL_DEFERRED;
};

} // namespace ze_cpu

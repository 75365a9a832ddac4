// SPDX-License-Identifier: Apache-2.0
// Protection from pthread_cancel(). A cancelled thread unwinds from wherever it blocks next,
// perhaps in a destructor or inside a driver, and little code survives that. So the library puts
// cancellation off until the thread leaves it, except while the thread waits for a stream.
#pragma once

#include <pthread.h>

namespace zemm {

// Puts off the cancellation of this thread.
class uncancelled {
public:
    uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    // Not noexcept: a caller with PTHREAD_CANCEL_ASYNCHRONOUS may be cancelled here.
    ~uncancelled() noexcept(false) { pthread_setcancelstate(before_, nullptr); }
    uncancelled(const uncancelled &) = delete;
    uncancelled &operator=(const uncancelled &) = delete;
    int before() const { return before_; } // PTHREAD_CANCEL_ENABLE or _DISABLE

private:
    int before_;
};

// Restores the caller's cancel state within the scope of an `uncancelled`, for a wait that may be
// cancelled because nothing is half done then. The wait is the only point where that happens, also if
// the caller has chosen PTHREAD_CANCEL_ASYNCHRONOUS.
class cancellable {
public:
    explicit cancellable(int before) {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_before_);
        pthread_setcancelstate(before, nullptr);
        pthread_testcancel();
    }
    ~cancellable() {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        pthread_setcanceltype(type_before_, nullptr);
    }
    cancellable(const cancellable &) = delete;
    cancellable &operator=(const cancellable &) = delete;

private:
    int type_before_ = PTHREAD_CANCEL_DEFERRED;
};

} // namespace zemm

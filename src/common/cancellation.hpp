// SPDX-License-Identifier: Apache-2.0
// pthread_cancel(): the thread unwinds from wherever it blocks next, be that in a destructor or inside of a
// driver, and few of them survive it. So it is put off until the thread leaves the library, but for waits for
// a stream.
#pragma once

#include <pthread.h>

namespace zemm {

class uncancelled {
public:
    uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~uncancelled() { pthread_setcancelstate(before_, nullptr); }
    uncancelled(const uncancelled &) = delete;
    uncancelled &operator=(const uncancelled &) = delete;
    int before() const { return before_; } // PTHREAD_CANCEL_ENABLE or _DISABLE

private:
    int before_;
};

// Within that, a wait with nothing half done: what applied before applies again.
class cancellable {
public:
    explicit cancellable(int before) {
        pthread_setcancelstate(before, nullptr);
        pthread_testcancel();
    }
    ~cancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }
    cancellable(const cancellable &) = delete;
    cancellable &operator=(const cancellable &) = delete;
};

} // namespace zemm

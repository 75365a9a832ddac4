// SPDX-License-Identifier: Apache-2.0
//
// pthread_cancel(): the thread unwinds from wherever it blocks next, be that in a destructor or inside of the
// OpenCL runtime, which do not survive it. So it is put off until the thread leaves the driver, but for waits
// in which nothing is half done.
#pragma once

#include <pthread.h>

namespace ze_cpu {

/// The state that this thread had when it entered the driver; disabled for threads of the driver's own.
inline thread_local int callers_cancel_state = PTHREAD_CANCEL_DISABLE;

/// In every entry point.
class Uncancelled {
public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &callers_cancel_state); }
    ~Uncancelled() {
        int state = callers_cancel_state;
        callers_cancel_state = PTHREAD_CANCEL_DISABLE;
        pthread_setcancelstate(state, nullptr);
    }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;
};

class Cancellable {
public:
    Cancellable() {
        pthread_setcancelstate(callers_cancel_state, nullptr);
        pthread_testcancel();
    }
    ~Cancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }
    Cancellable(const Cancellable &) = delete;
    Cancellable &operator=(const Cancellable &) = delete;
};

} // namespace ze_cpu

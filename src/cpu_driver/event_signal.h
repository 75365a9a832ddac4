// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <utility>

#include "signal.h"

namespace ze_cpu {

/// The Signal of an event. That of a counter-based event is replaced by every append that is to signal it, so
/// it is read under a lock; who waits for the one before keeps that.
class EventSignal {
public:
    EventSignal(SignalPtr signal) : signal_(std::move(signal)) {}
    operator SignalPtr() const {
        std::lock_guard lock(mutex_);
        return signal_;
    }
    SignalPtr operator->() const { return *this; }
    void replace(SignalPtr signal) {
        std::lock_guard lock(mutex_);
        signal_.swap(signal); // the old one goes after the lock
    }

private:
    mutable std::mutex mutex_;
    SignalPtr signal_;
};

} // namespace ze_cpu

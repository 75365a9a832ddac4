// SPDX-License-Identifier: Apache-2.0
//
// The Signal of an event, which can be replaced while others use it.
#pragma once

#include <mutex>
#include <utility>

#include "signal_state.h"

namespace ze_cpu {

/// The Signal of an event. Each append that is to signal a counter-based event replaces the Signal,
/// so it is read and written under a lock. A wait for the previous Signal keeps that one alive.
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
        signal_.swap(signal); // the old Signal is released after the lock
    }

private:
    mutable std::mutex mutex_;
    SignalPtr signal_;
};

} // namespace ze_cpu

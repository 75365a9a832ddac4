// SPDX-License-Identifier: Apache-2.0
//
// The handles of event pools, events and fences.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <level_zero/ze_api.h>

#include "signal_state.h"

struct _ze_event_pool_handle_t {
    ze_context_handle_t context;
    ze_event_pool_flags_t flags;
    uint32_t count;
    bool counter_based = false;                             // its events are counter-based
    std::shared_ptr<ze_cpu::SharedEvents> shared = nullptr; // states of a pool with the IPC flag
    bool is_opened = false;                                 // from an IPC handle
};

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

/// Members of counter-based events alone.
struct CounterBased {
    uint32_t flags;
    _ze_event_pool_handle_t pool; // holds the flags of an event without another pool
};

} // namespace ze_cpu

struct _ze_event_handle_t {
    ze_event_pool_handle_t pool;
    ze_event_desc_t desc;
    ze_cpu::EventSignal signal;
    std::unique_ptr<ze_cpu::CounterBased> counter_based; // null: an ordinary event of a pool
};

struct _ze_fence_handle_t {
    ze_cpu::SignalPtr signal;
};

namespace ze_cpu {

inline constexpr uint32_t event_scopes =
    ZE_EVENT_SCOPE_FLAG_SUBDEVICE | ZE_EVENT_SCOPE_FLAG_DEVICE | ZE_EVENT_SCOPE_FLAG_HOST;

/// Makes a counter-based event in this pool. If `pool` is null, the event gets a pool of its own.
ze_event_handle_t make_counter_based(ze_context_handle_t context, ze_event_pool_handle_t pool,
                                     const ze_event_desc_t &desc, uint32_t flags);

/// The Signal that a command with this event has to set. A counter-based event gets a new Signal
/// for each command.
SignalPtr signal_to_set(ze_event_handle_t event);

} // namespace ze_cpu

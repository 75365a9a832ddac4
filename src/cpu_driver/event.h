// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <level_zero/ze_api.h>

#include "event_signal.h"

struct _ze_event_pool_handle_t {
    ze_context_handle_t context;
    ze_event_pool_flags_t flags;
    uint32_t count;
    bool counter_based = false;                             // its events are
    std::shared_ptr<ze_cpu::SharedEvents> shared = nullptr; // of a pool for IPC
    bool is_opened = false;                                 // by a handle of IPC
};

namespace ze_cpu {

/// What a counter-based event has beside.
struct CounterBased {
    uint32_t flags;
    _ze_event_pool_handle_t pool; // of its own, for its flags, if it was created without one
};

} // namespace ze_cpu

struct _ze_event_handle_t {
    ze_event_pool_handle_t pool;
    ze_event_desc_t desc;
    ze_cpu::EventSignal signal;
    std::unique_ptr<ze_cpu::CounterBased> counter_based; // null: an ordinary event of a pool
};

namespace ze_cpu {

inline constexpr uint32_t event_scopes =
    ZE_EVENT_SCOPE_FLAG_SUBDEVICE | ZE_EVENT_SCOPE_FLAG_DEVICE | ZE_EVENT_SCOPE_FLAG_HOST;

/// A counter-based event, of the pool or of one of its own (null).
ze_event_handle_t make_counter_based(ze_context_handle_t context, ze_event_pool_handle_t pool,
                                     const ze_event_desc_t &desc, uint32_t flags);

/// What a command sets that is appended with this event.
SignalPtr signal_to_set(ze_event_handle_t event);

} // namespace ze_cpu

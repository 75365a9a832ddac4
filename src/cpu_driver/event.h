// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <level_zero/ze_api.h>

#include "event_signal.h"

struct _ze_event_pool_handle_t {
    ze_context_handle_t context;
    ze_event_pool_flags_t flags;
    uint32_t count;
};

namespace ze_cpu {

/// What an event has that was created without a pool.
struct CounterBased {
    uint32_t flags;
    _ze_event_pool_handle_t pool; // of its own, for its flags
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

/// What a command sets that is appended with this event.
SignalPtr signal_to_set(ze_event_handle_t event);

} // namespace ze_cpu

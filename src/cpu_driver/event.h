// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <level_zero/ze_api.h>

#include "signal.h"

struct _ze_event_pool_handle_t {
    ze_context_handle_t context;
    ze_event_pool_flags_t flags;
    uint32_t count;
};

struct _ze_event_handle_t {
    ze_event_pool_handle_t pool;
    ze_event_desc_t desc;
    ze_cpu::SignalPtr signal;
};

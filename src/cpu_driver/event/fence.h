// SPDX-License-Identifier: Apache-2.0
//
// The handle of a fence.
#pragma once

#include <level_zero/ze_api.h>

#include "signal_state.h"

struct _ze_fence_handle_t {
    ze_cpu::SignalPtr signal;
};

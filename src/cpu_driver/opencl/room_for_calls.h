// SPDX-License-Identifier: Apache-2.0
//
// Calls of the runtime that compile or run kernels need a large stack, whatever thread makes them, and those
// that enqueue commands need memory.
#pragma once

#include "opencl_api.h"

namespace ze_cpu {

/// Replaces such functions by ones that see to the stack (stack/large_stack.h) and to the reserve
/// (process/reserve.h) first.
void give_room_to_calls(cl::Api &api);

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
//
// Calls of the runtime that compile or run kernels need a large stack, whatever thread makes them.
#pragma once

#include "opencl_api.h"

namespace ze_cpu {

/// Replaces such functions by ones that see to the stack first (process/large_stack.h).
void give_stack_to_calls(cl::Api &api);

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
// The functions that stuck_runtime.c does not define. Nobody calls them.
#include "opencl/opencl_api.h"

#define DEFINE(name, result, parameters)                                                                     \
    extern "C" __attribute__((weak)) int name() { return -1; }
ZE_CPU_OPENCL_FUNCTIONS(DEFINE)

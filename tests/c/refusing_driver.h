// SPDX-License-Identifier: Apache-2.0
// A Level Zero driver that is libze_cpu.so but for the modules and kernels that a test has it refuse.
#pragma once

#include <level_zero/ze_api.h>

struct refusal {
    ze_result_t result; // ZE_RESULT_SUCCESS: not refused
    const char *log;    // build log of a refused module
};

// Asked before each module and kernel is created. nullptr refuses nothing.
struct judges {
    refusal (*module)(const ze_module_desc_t &desc) = nullptr;
    ze_result_t (*kernel)(const ze_kernel_desc_t &desc) = nullptr;
};

// Exported by the driver as this name; may be called from any thread, but not while modules are built.
using set_judges_function = void (*)(judges);
constexpr char set_judges_name[] = "set_judges";

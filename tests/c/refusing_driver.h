// SPDX-License-Identifier: Apache-2.0
// A Level Zero driver that is libze_cpu.so but for the calls that a test has it refuse. It counts the handles
// and the memory that were made through it and are still there.
#pragma once

#include <level_zero/ze_api.h>

struct refusal {
    ze_result_t result; // ZE_RESULT_SUCCESS: not refused
    const char *log;    // build log of a refused module
};

// Asked before each call, each module and each kernel. nullptr refuses nothing.
struct judges {
    refusal (*module)(const ze_module_desc_t &desc) = nullptr;
    ze_result_t (*kernel)(const ze_kernel_desc_t &desc) = nullptr;
    // name: as in ze_api.h. A call that frees something does so even if it is refused.
    ze_result_t (*call)(const char *name) = nullptr;
};

// Exported by the driver as this name; may be called from any thread, but not while modules are built.
using set_judges_function = void (*)(judges);
constexpr char set_judges_name[] = "set_judges";

// The number of things that are still there; the driver ends the process when something is destroyed that is
// not.
using count_live_function = int (*)();
constexpr char count_live_name[] = "count_live";
// Writes what is still there to stderr.
using print_live_function = void (*)();
constexpr char print_live_name[] = "print_live";

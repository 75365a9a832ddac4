// SPDX-License-Identifier: Apache-2.0
// A Level Zero driver that is libze_cpu.so, except that a test can make calls fail. It counts the
// handles and the memory that were created through it and still exist.
#pragma once

#include <level_zero/ze_api.h>

struct refusal {
    ze_result_t result; // ZE_RESULT_SUCCESS: not refused
    const char *log;    // build log of a refused module
};

// Asked before each call, each module and each kernel. A nullptr refuses nothing.
struct judges {
    refusal (*module)(const ze_module_desc_t &desc) = nullptr;
    ze_result_t (*kernel)(const ze_kernel_desc_t &desc) = nullptr;
    // name is as in ze_api.h. A call that frees something frees it even if the call is refused.
    ze_result_t (*call)(const char *name) = nullptr;
};

// The driver exports this function under this name. Any thread may call it, but not while modules
// are built.
using set_judges_function = void (*)(judges);
constexpr char set_judges_name[] = "set_judges";

// The number of things that still exist. The driver ends the process when something is destroyed
// that does not exist.
using count_live_function = int (*)();
constexpr char count_live_name[] = "count_live";
// Prints the things that still exist to stderr.
using print_live_function = void (*)();
constexpr char print_live_name[] = "print_live";

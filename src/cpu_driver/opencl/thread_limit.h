// SPDX-License-Identifier: Apache-2.0
//
// How many threads compute at the same time.
#pragma once

#include <cstdint>

namespace ze_cpu {

/// The most threads that may work on launches, with the thread that waits for them; 0: one for each CPU.
/// With 1 a launch runs on the thread that appends it. Copies and fills are not counted.
uint32_t thread_limit();

/// Sets the limit of this process, at any time; launches that run already keep their threads. `function` is
/// any function of the OpenCL runtime. False: its scheduler takes no limit.
bool set_thread_limit(uint32_t most, const void *function);

/// Sets the limit that the variable ZEMM_NUM_THREADS names, if it is a positive number.
void read_thread_limit(const void *function);

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
// How many threads of the CPU device compute at the same time.
#pragma once

namespace zemm::ze {

// most: 0 for one thread for each CPU. Opens the CPU device. Throws if there is none, or if it is of a driver
// that takes no limit.
void set_cpu_threads(int most);
int cpu_threads();
// Warns in the log if ZEMM_NUM_THREADS limits nothing.
void warn_of_thread_variable();

} // namespace zemm::ze

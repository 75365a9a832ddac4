// SPDX-License-Identifier: Apache-2.0
// How many threads of the CPU device compute at the same time.
#pragma once

namespace zemm::ze {

// most: 0 for one thread for each CPU. Opens the CPU device. Throws if there is none, or if it is of a driver
// that takes no limit.
void set_cpu_threads(int most);
int cpu_threads();
// Warns in the log of a wrong ZEMM_NUM_THREADS or ZEMM_SPIN_US.
void warn_of_thread_variables();

} // namespace zemm::ze

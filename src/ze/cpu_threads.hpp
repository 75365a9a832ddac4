// SPDX-License-Identifier: Apache-2.0
// How many threads of the CPU device compute at the same time.
#pragma once

#include <level_zero/ze_api.h>

#include "zemm/zemm_types.h"

namespace zemm::ze {

// most: 0 for one thread for each CPU. Opens the CPU device. Throws if there is none, or if it is of a driver
// that takes no limit.
void set_cpu_threads(int most);
int cpu_threads();
// What is behind the descriptor of a list of the CPU device whose launches the pool's threads compute. Throws
// as set_cpu_threads() does.
struct threadpool_desc {
    explicit threadpool_desc(const zemm_threadpool_t &lent);

    ze_structure_type_t stype;
    const void *pNext = nullptr;
    zemm_threadpool_t pool;
};
// Warns in the log of a wrong ZEMM_NUM_THREADS or ZEMM_SPIN_US.
void warn_of_thread_variables();

} // namespace zemm::ze

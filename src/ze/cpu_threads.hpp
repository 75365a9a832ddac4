// SPDX-License-Identifier: Apache-2.0
// How many threads of the CPU device compute at the same time.
#pragma once

#include "zemm/zemm_types.h"

namespace zemm::ze {

// most: 0 for one thread for each CPU. Opens the CPU device. Throws if there is none, or if it is of a driver
// that takes no limit.
void set_cpu_threads(int most);
int cpu_threads();
// While it exists, the first list of brief launches that this thread creates on the CPU device gets the
// pool's threads, which compute them. Throws as set_cpu_threads() does.
class lent_threads {
public:
    explicit lent_threads(const zemm_threadpool_t &pool);
    ~lent_threads();
    lent_threads(const lent_threads &) = delete;
    lent_threads &operator=(const lent_threads &) = delete;

private:
    void (*const set_)(const zemm_threadpool_t *);
};
// Warns in the log of a wrong ZEMM_NUM_THREADS or ZEMM_SPIN_US.
void warn_of_thread_variables();

} // namespace zemm::ze

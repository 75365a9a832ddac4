// SPDX-License-Identifier: Apache-2.0
//
// Threads that help the one that appends a launch. After a launch they wait for the next one in a loop, for
// half a millisecond by default: a thread that sleeps needs 50 us to wake, longer than a layer of a language
// model takes for one token. They sleep at once where other threads want their CPUs.
#pragma once

#include <cstddef>

#include "job.h"

namespace ze_cpu::crew {

/// Does all of the job, on this thread and on helpers that wait for work or wake in time. Returns false, and
/// has done nothing, while another thread's job has the helpers.
bool run(Job &job);

/// Asks helpers that wait in a loop to prefetch memory into their caches until the next job begins.
/// Prefetches do not fault: any address may be given. Only the first few calls between two jobs have an
/// effect.
void fetch(const void *begin, size_t bytes);

/// Notes the CPUs of the calling thread as those of all helpers, and reads the variable ZEMM_SPIN_US: how
/// long a helper waits in a loop, 0 to 1000 us. Other values count as if it were not set.
void prepare();

} // namespace ze_cpu::crew

// SPDX-License-Identifier: Apache-2.0
//
// Threads of the program, which it lends to an immediate list.
#pragma once

#include <optional>

#include "job.h"

namespace ze_cpu {

/// parallel_for calls work(i, n, argument) for all i below n, in any order and on any threads, and returns
/// when all calls have returned. get_num_threads: how many it has, the one that calls it included.
struct Threadpool {
    int (*get_num_threads)(void *pool);
    void (*parallel_for)(void *pool, int n, void (*work)(int i, int n, void *argument), void *argument);
    void *pool;

    /// Does all of the job, on this thread and on those of the pool. Returns false, and has done nothing, if
    /// the job has too many items.
    bool run(Job &job) const;

    /// That the thread lends to the immediate list that it creates next (zeCpuSetThreadpool).
    static thread_local std::optional<Threadpool> of_next_list;
};

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
//
// Threads of the program, which it lends to an immediate list.
#pragma once

#include <level_zero/ze_api.h>

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
};

/// Behind the descriptor of an immediate list that is synchronous and of high priority: threads of the
/// program compute what the driver's own would share (crew.h) of its launches. Not part of Level Zero.
struct ThreadpoolDesc {
    static constexpr auto type = ze_structure_type_t(0x7a650001);
    ze_structure_type_t stype;
    const void *pNext;
    Threadpool pool;
};

} // namespace ze_cpu

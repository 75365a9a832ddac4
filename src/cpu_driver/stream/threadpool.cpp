// SPDX-License-Identifier: Apache-2.0
#include "threadpool.h"

#include <climits>

#include "default_floats.h"
#include "stack/large_stack.h"

namespace ze_cpu {
namespace {

/// A job that the threads of a pool share.
class Shared {
public:
    Shared(Job &job, uint32_t threads)
        : job_(job), items_(uint32_t(job.items)), threads_(threads), least_(job.least_part()) {}

    /// Does items until none is left.
    void work() {
        uint32_t begin = taken_.load(std::memory_order_relaxed);
        while (begin < items_) {
            const uint32_t count = Job::part_of(items_ - begin, threads_, least_);
            if (!taken_.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed))
                continue;
            job_.run(begin, count);
            begin = taken_.load(std::memory_order_relaxed);
        }
    }

    /// A thread with a small stack leaves the items to others.
    static void work_for_pool(int, int, void *shared) {
        if (!stack::is_large())
            return;
        const DefaultFloats floats;
        static_cast<Shared *>(shared)->work();
    }

private:
    Job &job_;
    const uint32_t items_, threads_, least_;
    std::atomic<uint32_t> taken_{0};
};

} // namespace

thread_local std::optional<Threadpool> Threadpool::of_next_list;

bool Threadpool::run(Job &job) const {
    if (job.items > INT_MAX)
        return false;
    const auto threads = uint32_t(std::max(1, get_num_threads(pool)));
    const uint64_t start = timestamp_now();
    Shared shared(job, threads);
    if (threads > 1 && job.is_worth_sharing())
        parallel_for(pool, int(std::min(threads, uint32_t(job.items))), Shared::work_for_pool, &shared);
    shared.work(); // what the pool has left
    job.learn(start, threads);
    return true;
}

} // namespace ze_cpu

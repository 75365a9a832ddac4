// SPDX-License-Identifier: Apache-2.0
//
// Work that threads share: the work-groups of a launch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opencl/runtime.h"

namespace ze_cpu {

class Job {
public:
    Job(size_t items, std::atomic<float> &item_ns) : items(items), item_ns_(item_ns) {}
    /// Does some items on the calling thread.
    virtual void run(size_t begin, size_t count) noexcept = 0;

    /// How many of the items that are left a thread takes, of `threads`; least: least_part(). Neighbours have
    /// data that lie behind one another in memory, which is read faster the longer it goes on. So parts are
    /// large at first, and small in the end, when others wait for the last one.
    static uint32_t part_of(uint32_t left, uint32_t threads, uint32_t least) {
        const uint32_t fair = (left + threads - 1) / threads;
        return std::min(std::max(fair / 2, least), fair);
    }

    /// The items that are worth taking at once.
    uint32_t least_part() const {
        constexpr float part_ns = 6'000; // about: taking a part costs little beside it
        const float ns = item_ns_.load(std::memory_order_relaxed);
        return ns == 0 ? 1 : uint32_t(std::clamp(part_ns / ns, 1.f, float(items)));
    }

    /// Whether it takes longer than it takes to wake a thread.
    bool is_worth_sharing() const {
        constexpr float worth_waking = 10'000; // ns: waking takes some, and a helper comes later still
        const float ns = item_ns_.load(std::memory_order_relaxed);
        return items > 1 && (ns == 0 || ns * float(items) > worth_waking);
    }

    /// Notes how long the items took `threads` threads, which began at `start`, for later jobs of the kind.
    void learn(uint64_t start, uint32_t threads) {
        const float before = item_ns_.load(std::memory_order_relaxed);
        const float took =
            float(timestamp_now() - start) / float(items) * float(std::min<size_t>(items, threads));
        item_ns_.store(before == 0 ? took : 0.75f * before + 0.25f * took, std::memory_order_relaxed);
    }

    const size_t items;

protected:
    ~Job() = default;

private:
    std::atomic<float> &item_ns_; // about, on one thread; 0: not known
};

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
//
// Limits of waits.
#pragma once

#include <chrono>
#include <cstdint>

namespace ze_cpu {

/// Point in time until which a call may wait; Level Zero's UINT64_MAX means for ever.
class Deadline {
public:
    explicit Deadline(uint64_t timeout_ns) : forever_(timeout_ns > century) {
        if (!forever_)
            at_ += std::chrono::nanoseconds(timeout_ns);
    }
    bool forever() const { return forever_; }
    bool passed() const { return !forever_ && std::chrono::steady_clock::now() >= at_; }
    std::chrono::steady_clock::time_point at() const { return at_; }

private:
    // Anything above would overflow the clock's count and is as good as for ever.
    static constexpr uint64_t century = 100ull * 366 * 24 * 3600 * 1000000000ull;

    bool forever_;
    std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::now();
};

} // namespace ze_cpu

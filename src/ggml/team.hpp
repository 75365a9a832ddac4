// SPDX-License-Identifier: Apache-2.0
// ggml's threads, while zemm computes. The threads of OpenMP spin for milliseconds after a parallel region,
// on the cores that zemm's own threads would need. So they do zemm's work, in a region of their own.
#pragma once

#include <cstdint>
#include <functional>

namespace zemm_ggml {

// Threads that do zemm's work.
class team {
public:
    virtual ~team() = default;

    // Calls work(i) for i from 0 to count - 1, on all threads, and waits.
    virtual void each(int64_t count, const std::function<void(int64_t)> &work) const = 0;
    virtual int threads() const = 0;
    // Whether they wait for calls of each(); else each call starts them.
    virtual bool waits() const = 0;
};

// Runs the work on this thread with a team of `threads` threads, of which this is one.
void with_team(int threads, const std::function<void(const team &)> &work);

// Whether OpenMP has its threads: not in a child of fork(), where it would wait for those of the parent's
// team.
bool has_threads();

} // namespace zemm_ggml

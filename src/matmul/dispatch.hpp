// SPDX-License-Identifier: Apache-2.0
// The list of matmul kernels and which of them takes a problem.
#pragma once

#include <optional>
#include <vector>

#include "matmul/facts.hpp"
#include "matmul/split.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// A row that takes a problem.
struct candidate {
    struct facts facts; // of the problem with the weights' layout that it wants
    // The same with packed weights, where they are packed first: what the kernel runs.
    std::optional<struct facts> packed = std::nullopt;
    // Where a sub-group owns a tile: how tiles and K are dealt, and the clocks that this is estimated to
    // take.
    split dealt = {};
    double clocks = 0;

    const struct facts &runs() const { return packed ? *packed : facts; }
};

// The rows that take the problem, in the order of kernels.def. Refusals go to the log
// (ZEMM_VERBOSE=dispatch). ZEMM_KERNEL=<name> keeps only that row; unimplemented when nothing is left.
std::vector<candidate> candidates(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

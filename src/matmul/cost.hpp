// SPDX-License-Identifier: Apache-2.0
// What a row of kernels.def for GPUs with XMX would take for a problem, from the numbers of the device: to
// choose among tiles.
#pragma once

#include <string>

#include "matmul/dispatch.hpp"

namespace zemm::matmul {

struct cost {
    double clocks; // of the device, from the first to the last tile
    double xmx, l1,
        scaling;        // of a tile: multiplying, loading from the first cache level, scaling sums of blocks
    zemm_dim_t tiles;   // ranges of K counted, too
    double utilisation; // of all matrix engines over these clocks
    std::string text() const;
};

cost estimate(const problem &p, const kernel_row &row, const ze::device &dev);

} // namespace zemm::matmul

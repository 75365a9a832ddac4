// SPDX-License-Identifier: Apache-2.0
// What a row of kernels.def for GPUs where a sub-group owns a tile would take for a problem, from the numbers
// of the device: to choose among tiles, and among ways to split K.
#pragma once

#include <string>

#include "common/memory_desc.hpp"
#include "matmul/split.hpp"

namespace zemm::matmul {

struct cost {
    double clocks; // of the device, from the first to the last tile
    // Of a tile: multiplying; loading from the first cache level; on the floats' pipe scaling sums of blocks
    // and splitting f32; on the integers' pipe making what is multiplied of integer weights and split f32.
    double multiplying, l1, scaling, widening;
    zemm_dim_t tiles;   // slices and ranges of K counted, too
    double utilisation; // of what the device could multiply in these clocks
    bool gathers;       // the weights, element by element
    double packing;     // clocks of packing the weights first; 0: they are taken as they are
    // Adds a launch before that packs the weights.
    void pack_first(const memory_desc &plain, const memory_desc &packed, const ze::gpu_model &model);
    std::string text() const;
};

cost estimate(const facts &f, const ze::gpu_model &model, const split &s);

} // namespace zemm::matmul

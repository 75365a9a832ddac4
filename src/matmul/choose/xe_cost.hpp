// SPDX-License-Identifier: Apache-2.0
// Estimates the clocks that a row of kernels.def takes for a problem on a GPU, where a sub-group
// owns a tile. Dispatch compares tiles with it, and best_split() the ways to split K.
#pragma once

#include <string>

#include "common/memory_desc.hpp"
#include "matmul/choose/split.hpp"

namespace zemm::matmul {

struct cost {
    double clocks; // of the device, from the start of the first tile to the end of the last
    // Clocks of one tile. multiplying: the products. l1: loads from the L1 cache. scaling: on the
    // pipe for floats, scaling sums of blocks and splitting f32. widening: on the pipe for
    // integers, converting integer weights, small floats and split f32 to the type that is multiplied.
    double multiplying, l1, scaling, widening;
    zemm_dim_t tiles;   // times slices and ranges of K
    double utilisation; // fraction of the products that the device could compute in these clocks
    bool gathers;       // reads weights element by element
    double packing;     // clocks of packing the weights first; 0: they are read as they are
    double arranging;   // clocks of arranging src first (arrangement.hpp); 0: it is read as it is
    // Add the launch that packs the weights, and the one that arranges src.
    void pack_first(const memory_desc &plain, const memory_desc &packed, const ze::gpu_model &model);
    void arrange_first(const memory_desc &src, const memory_desc &arranged, const ze::gpu_model &model);
    std::string text() const;

private:
    void add(double more); // clocks
};

cost estimate(const facts &f, const ze::gpu_model &model, const split &s);

} // namespace zemm::matmul

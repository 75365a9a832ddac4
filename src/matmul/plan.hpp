// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one problem: its constants, its argument block, its launches and its scratchpad.
#pragma once

#include <array>
#include <vector>

#include "kernels/matmul_args.h"
#include "matmul/dispatch.hpp"
#include "primitive/launch.hpp"
#include "reorder/plan.hpp"
#include "ze/module.hpp"

namespace zemm::matmul {

struct plan {
    const kernel_row *row;
    std::vector<ze::spec_constant> constants;
    kernels::matmul_problem argument_block;      // copied to the device at creation
    std::array<uint32_t, 3> group_size;          // work-items of a group
    std::array<uint32_t, 3> group_count;         // tiles, batch, ranges of K
    size_t local_bytes = 0;                      // memory that a group's sub-groups share
    size_t src_alignment = 1, wei_alignment = 1; // bytes of which the tensors' places have to be multiples

    // What runs before and after, with data in the scratchpad at so many bytes.
    reorder::plan pack; // the weights, first; kernel is nullptr if they are taken as they are
    size_t packed_at = 0;
    bool computes_reductions = false; // by reduce_src
    std::vector<ze::spec_constant> reduce_constants;
    std::array<uint32_t, 3> reduce_count; // work-items of reduce_src: parts of a row, rows of dst
    size_t reductions_at = 0;
    // K split in ranges: each leaves its sums, and the kernel with these constants adds them up.
    std::vector<ze::spec_constant> finish_constants; // empty if K is not split
    std::array<uint32_t, 3> finish_count;
    size_t partials_at = 0;

    size_t scratchpad_size = 0; // bytes
};

// Rounds up to a multiple of the unit.
constexpr zemm_dim_t up(zemm_dim_t value, zemm_dim_t unit) {
    return (value + unit - 1) / unit * unit;
}
// Elements of K in each of at most so many ranges: whole segments, or whole panels where there is only one.
zemm_dim_t k_range(const facts &f, zemm_dim_t ranges);
// Room in the scratchpad for what ranges of K leave, in rows of so many columns; the grid is known.
void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges);

plan make_plan(const candidate &c, const ze::device &dev);

} // namespace zemm::matmul

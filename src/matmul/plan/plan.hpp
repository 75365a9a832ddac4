// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one problem: its specialisation constants, argument block, launches and
// scratchpad.
#pragma once

#include <array>
#include <vector>

#include "kernels/matmul_args.h"
#include "matmul/choose/dispatch.hpp"
#include "primitive/launch.hpp"
#include "reorder/plan.hpp"
#include "ze/module.hpp"

namespace zemm::matmul {

struct plan {
    const kernel_row *row;
    std::vector<ze::spec_constant> constants;
    uint32_t flags = 0;                     // FLAG_..., also those that the constants leave out
    kernels::matmul_problem argument_block; // copied to the device at creation
    std::array<uint32_t, 3> group_size;     // work-items of a work-group
    // Work-groups: tiles, batch, ranges of K. With groups of rows the tiles are those of tiles_along_m
    // entries of the table of an execution (group_table.hpp), also in finish_count.
    std::array<uint32_t, 3> group_count;
    uint32_t tiles_along_m = 1;
    size_t local_bytes = 0;                      // local memory of a work-group
    size_t src_alignment = 1, wei_alignment = 1; // bytes; the addresses must be multiples of them

    // Launches before and after the matmul. The members ..._at are offsets into the scratchpad in
    // bytes.
    reorder::plan pack; // packs the weights; kernel is nullptr if they are read as they are
    size_t packed_at = 0;
    reorder::plan widen; // makes src wider; kernel is nullptr if it is read as it is
    size_t wide_at = 0;
    reorder::plan arrange; // arranges src; kernel is nullptr if it is read as it is
    size_t arranged_at = 0;
    bool computes_reductions = false; // reduce_src runs before the matmul
    std::vector<ze::spec_constant> reduce_constants;
    std::array<uint32_t, 3> reduce_count; // work-items of reduce_src: parts of a row, rows of dst
    size_t reductions_at = 0;
    // If K is split into ranges, the matmul writes the sums of each range. The same kernel then
    // runs with these constants and adds them up.
    std::vector<ze::spec_constant> finish_constants; // empty if K is not split into ranges
    std::array<uint32_t, 3> finish_count;
    size_t partials_at = 0;

    size_t scratchpad_size = 0; // bytes

    bool has_row_groups() const { return argument_block.grouping == kernels::ROW_GROUPS; }
};

// Takes scratchpad for the sums of all ranges, in rows of `columns` elements. p.group_count must be
// set.
void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges);

plan make_plan(const candidate &c, const ze::device &dev);

// The rows that take a problem, and the plan of the first one.
struct planned {
    std::vector<candidate> candidates;
    plan first;
};
// Throws what candidates() throws. The choice of a tuning file must not need much more scratchpad than the
// row that would run without it.
planned plan_first(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

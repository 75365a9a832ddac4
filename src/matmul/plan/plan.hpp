// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one problem: how the problem is cut, the launches and the scratchpad.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "kernels/matmul_args.h"
#include "matmul/choose/dispatch.hpp"
#include "matmul/choose/facts.hpp"
#include "primitive/launch.hpp"
#include "primitive/scratch.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

struct plan {
    const kernel_row *row = nullptr; // none for f64
    uint32_t flags = 0;              // FLAG_..., also those that the constants leave out
    std::shared_ptr<kernels::matmul_problem> argument_block;
    std::array<uint32_t, 3> group_size; // work-items of a work-group
    // Work-groups: tiles, batch, ranges of K. With groups of rows the tiles are those of tiles_along_m
    // entries of the table of an execution (group_table.hpp), also in adding_count.
    std::array<uint32_t, 3> group_count;
    uint32_t tiles_along_m = 1;
    size_t local_bytes = 0; // local memory of a work-group
    // If K is split into ranges, the matmul writes the sums of each range into the scratchpad. The same
    // kernel then runs with other constants and adds them up.
    std::array<uint32_t, 3> adding_count;
    size_t partials_at = 0;

    scratch scratchpad;
    std::shared_ptr<const sequence> launches; // none for an empty problem

    bool has_row_groups() const { return argument_block->grouping == kernels::ROW_GROUPS; }
    bool is_split() const { return argument_block->k_range < argument_block->k; }
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

// What the kernel gets by value. reductions: where the sums of src are, if not in the caller's argument. p:
// the caller's problem.
host_values main_values(const plan &made, const problem &p, const operand &reductions);

// made: with its argument block.
launch main_launch(const plan &made, const operand &src, const operand &wei, host_values values,
                   std::vector<ze::spec_constant> constants);
// The second launch of a split K.
launch add_ranges_launch(const plan &made, launch main, std::vector<ze::spec_constant> constants);

// Logs the plan of a problem. event: "create" when a descriptor has chosen it, "exec" when it is submitted.
void log_plan(const char *event, const problem &p, const plan &made);

// Sums of an integer src over each segment of K, with which zero points leave the loop over K. The kernel
// reduce_src writes them into the scratchpad before the matmul runs, unless the caller passes them.
// The tensor with the sums: dense s32 [src batch.., M, K / segment].
memory_desc reductions_md(const problem &p, zemm_dim_t segment);
// The launch of reduce_src, which reads the main launch's argument block.
launch reduce_launch(const facts &f, const memory_desc &reductions, const operand &src, const operand &to);

} // namespace zemm::matmul

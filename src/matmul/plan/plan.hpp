// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one problem: how the problem is cut, the launches and the scratchpad.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "kernels/args/matmul_args.h"
#include "matmul/choose/dispatch.hpp"
#include "matmul/choose/facts.hpp"
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
    bool quantizes_src = false; // the main launch reads src as it was before it was quantised

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

// Logs the plan of a problem. event: "create" when a descriptor has chosen it, "exec" when it is submitted.
void log_plan(const char *event, const problem &p, const plan &made);

} // namespace zemm::matmul

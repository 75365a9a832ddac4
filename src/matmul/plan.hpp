// SPDX-License-Identifier: Apache-2.0
// How one kernel runs one problem: its constants, its argument block, its grid and its scratchpad.
#pragma once

#include <array>
#include <vector>

#include "kernels/matmul_args.h"
#include "matmul/dispatch.hpp"
#include "matmul/problem.hpp"
#include "ze/module.hpp"

namespace zemm::matmul {

struct plan {
    const kernel_row *row;
    std::vector<ze::spec_constant> constants;
    kernels::matmul_problem block;        // copied to the device at creation
    std::array<uint32_t, 3> group_count;  // groups of row->group_x work-items
    bool computes_reductions = false;     // reduce_src runs first, into the scratchpad
    std::array<uint32_t, 3> reduce_count; // work-items of reduce_src: parts of a row, rows of dst
    size_t scratchpad_size = 0;           // bytes
};

plan make_plan(const problem &p, const kernel_row &row);

} // namespace zemm::matmul

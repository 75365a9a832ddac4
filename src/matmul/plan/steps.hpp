// SPDX-License-Identifier: Apache-2.0
// Matmuls that no row of kernels.def computes alone. Other kernels make their tensors plain, and finish
// their sums. In the middle is a matmul of plain tensors, or of f64 (matmul_f64.cl).
#pragma once

#include <optional>
#include <vector>

#include "matmul/problem/problem.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

// Whether the problem needs steps: layouts with blocks outside of weights, sparse tensors, zero points of a
// floating-point src, dropout, scales of dst that are results, stochastic rounding, f64.
bool needs_steps(const problem &p);

// A tensor that is converted into the scratchpad first. One that is converted twice has two of these: the
// second one reads the result of the first.
struct converted_tensor {
    int arg; // ZEMM_ARG_...
    memory_desc plain;
    reorder::plan move; // densify.cl for a sparse one, else a reorder
    size_t at;          // bytes in the scratchpad
};

struct steps {
    std::vector<converted_tensor> before;
    problem inner; // the matmul in the middle, and where its scratchpad begins
    size_t inner_scratchpad_at;
    std::optional<reorder::plan> multiply_f64; // runs in its place
    std::optional<reorder::plan> finish;       // turns its sums into dst (finish_dst.cl)
    size_t sums_at;
    std::optional<reorder::plan> after; // gives dst its layout
    size_t dst_at;                      // dst without blocks

    const converted_tensor *find(int arg) const;
};

// Throws unimplemented where a step has no kernel.
steps make_steps(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Matmuls that no row of kernels.def computes alone. Other kernels make their tensors plain, and finish
// their sums. In the middle is a matmul of plain tensors, or of f64 (matmul_f64.cl).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "matmul/problem/problem.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// Whether the problem needs steps: layouts with blocks outside of weights, sparse tensors, u3 weights, zero
// points of a floating-point src, a src that is quantised, dropout, scales of dst that are results,
// stochastic rounding, f64.
bool needs_steps(const problem &p);

struct steps {
    problem asked;                    // weights with the layout that the matmul in the middle wants
    problem inner;                    // the matmul in the middle
    std::optional<launch> f64;        // runs in its place
    std::vector<launch> before;       // convert tensors, in this order
    std::vector<launch> after;        // finish the sums, and give dst its layout
    std::map<int, operand> converted; // what the matmul in the middle reads and writes, by argument
    // Where a launch quantises src: its place in `before`, and what it reads.
    struct quantizing_launch {
        size_t at;
        operand src;
    };
    std::optional<quantizing_launch> quantizing;
    scratch scratchpad;

    // All launches. inner: those of the matmul in the middle, which has inner_size bytes of the scratchpad
    // behind the others; null for f64. quantizes_src: it quantises src itself.
    sequence around(const sequence *inner, size_t inner_size, bool quantizes_src,
                    const ze::device &dev) const;
    size_t scratchpad_size(size_t inner_size) const; // of all
};

// Throws unimplemented where a step has no kernel.
steps make_steps(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

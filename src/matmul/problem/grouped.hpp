// SPDX-License-Identifier: Apache-2.0
// Grouped matmuls, whose tensors have oneDNN's grouped encoding (as in mixtures of experts):
//
//   groups of rows:  dst[rows of g, N] = src[rows of g, K] * weights[g, K, N]
//   groups of K:     dst[g, M, N] = src[M, part g of K] * weights[part g of K, N]
//
// The memories say at execution where groups end. To dispatch and kernels, both are a batch with a matrix
// for each group, whose tensors have stride 0 along the batch where all groups lie in one place. For
// groups of rows each matrix has all rows, of which only those of its group are computed.
#pragma once

#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

struct grouped_problem {
    problem asked;   // the caller's descriptors and attributes
    problem batched; // the same as a batch
};

// Validates as oneDNN does, whose statuses for grouped matmuls are unimplemented, except that weights may
// have any layout, also tag any, src may have precomputed reductions, and dst any type. bias and attr may be
// NULL.
grouped_problem make_grouped_problem(const memory_desc &src, const memory_desc &wei, const memory_desc *bias,
                                     const memory_desc &dst, const zemm_primitive_attr *attr);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// src or weights in CSR or COO, and packed weights with their zeros left out: what a matmul takes.
#pragma once

#include "matmul/problem/problem.hpp"
#include "reorder/sparse.hpp"

namespace zemm::matmul {

// Whether weights have the packed encoding.
bool is_sparse_packed(const memory_desc &md);
// Throws unimplemented if a matmul does not take the problem's sparse tensors.
void check_sparse(const problem &p);
// The descriptor of packed weights with their layout: that of packed_weights.hpp, without the zeros.
memory_desc with_packed_layout(const memory_desc &md);

} // namespace zemm::matmul

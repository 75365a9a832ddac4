// SPDX-License-Identifier: Apache-2.0
// src or weights in CSR or COO: what a matmul takes, and how they become dense.
#pragma once

#include "matmul/problem.hpp"
#include "primitive/objects.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

bool is_sparse(const memory_desc &md);
// Throws unimplemented if a matmul does not take the problem's sparse tensors.
void check_sparse(const problem &p);
reorder::plan plan_densify(const memory_desc &md);
// The buffers with the rows (pointers or indices) and with the columns of the values.
int rows_part(const memory_desc &md);
int columns_part(const memory_desc &md);
// Throws invalid_arguments if indices of a tensor are out of range or not in increasing order. Earlier work
// on the memory must be done.
void check_indices(const char *name, const zemm_memory &memory);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Sparse tensors: csr and coo, and the packed encoding with its layout. What reorders and matmuls take,
// and how they become dense.
#pragma once

#include "common/memory_desc.hpp"
#include "primitive/launch_plan.hpp"
#include "primitive/objects.hpp"

namespace zemm::reorder {

// The buffers of a sparse tensor with pointers and with indices (kernels/args/sparse_args.h).
int pointers_part(const memory_desc &md);
int indices_part(const memory_desc &md);
// Throws unimplemented if densify.cl and sparsify.cl do not take the tensor. name: for the sentence.
void check_sparse(const char *name, const memory_desc &md);

// The dense tensor that a sparse one stands for: row-major, or in the blocks of a packed one.
memory_desc dense_md(const memory_desc &md);

// Turns a sparse tensor into the dense one.
launch_plan plan_densify(const memory_desc &md);
// The launches that turn the dense tensor into a sparse one: the first counts, the second writes.
launch_plan plan_sparsify(const memory_desc &md, bool counts);
// The rows that are counted (kernels/args/sparse_args.h).
zemm_dim_t sparse_rows(const memory_desc &md);

// Throws invalid_arguments if the pointers and indices of a tensor are not those of its elements in
// increasing order. Earlier work on the memory must be done.
void check_contents(const char *name, const zemm_memory &memory);

} // namespace zemm::reorder

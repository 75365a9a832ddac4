// SPDX-License-Identifier: Apache-2.0
// What makes a memory descriptor valid. Everything here throws invalid_arguments; caller is the C function
// that the sentence names.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

constexpr zemm_dim_t runtime_dim = ZEMM_RUNTIME_DIM_VAL;

void check_data_type(const char *caller, const char *name, zemm_data_type_t dt);

// ndims, dims and data type of a new descriptor of one dimension or more.
void check_shape(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);

// Strides of a blocked descriptor: no two elements share a place (stride 0 apart), 4-bit rows start on bytes,
// and the size in bytes is a number.
void check_strides(const char *caller, const memory_desc &md);

// Every field of a descriptor that did not come from a builder (a blob, a struct of the caller).
void check_md(const char *caller, const memory_desc &md);

// Elements in one block of each dimension (1 where it is not blocked), and in the whole inner block.
struct blocks {
    zemm_dims_t of;
    zemm_dim_t total;
};
blocks md_blocks(const memory_desc &md);
// Blocks along a dimension; a part of a tensor may end inside its last one.
zemm_dim_t block_count(const memory_desc &md, const blocks &b, int d);

// Product that fails instead of wrapping around.
zemm_dim_t checked_mul(const char *caller, zemm_dim_t a, zemm_dim_t b);

} // namespace zemm

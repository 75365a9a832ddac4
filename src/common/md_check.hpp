// SPDX-License-Identifier: Apache-2.0
// Checks of memory descriptors. All of them throw invalid_arguments. caller: the C function that
// the sentence names.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

void check_data_type(const char *caller, const char *name, zemm_data_type_t dt);

// Checks ndims, dims and data type of a new descriptor.
void check_shape(const char *caller, int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);

// Checks the number of stored elements of a sparse descriptor.
void check_nnz(const char *caller, zemm_dim_t nnz);
// Checks that the pointers to the rows of a sparse descriptor can be counted in bytes.
void check_rows(const char *caller, zemm_dim_t rows);

// Checks the strides of a blocked descriptor: no two elements overlap (stride 0 may repeat an
// element), rows start at whole bytes, and the size in bytes does not overflow.
void check_strides(const char *caller, const memory_desc &md);

// Checks every field of a descriptor that zemm's functions did not create: of a blob, or of a
// struct of the caller.
void check_md(const char *caller, const memory_desc &md);

// a * b; throws if the product overflows.
zemm_dim_t checked_mul(const char *caller, zemm_dim_t a, zemm_dim_t b);

} // namespace zemm

// SPDX-License-Identifier: Apache-2.0
// The argument blocks of densify.cl and sparsify.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

enum sparse_encoding { SPARSE_CSR, SPARSE_COO, SPARSE_PACKED };

// A sparse matrix, and the dense, row-major one that it stands for. A packed tensor is a matrix whose
// rows are its blocks. A sparse matrix has three buffers: the values; pointers (CSR: the first value of
// each row, and the end of the last one; COO: the row of each value; packed: the first value of each
// row); and indices (CSR, COO: the column of each value; packed: a bit for each element).
struct sparse_problem {
    arg_i64 rows, columns;
    arg_i64 count;    // values that are stored
    arg_u64 nonzero;  // bits of an element, of which one at least is set if it is not 0
    arg_i32 encoding; // enum sparse_encoding
    arg_i32 bits;     // of an element: 8, 16, 32 or 64
    arg_i32 has_wide_pointers, has_wide_indices; // s64, else s32
};

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

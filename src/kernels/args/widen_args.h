// SPDX-License-Identifier: Apache-2.0
// The argument block of widen_src.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

// A work-item copies up to `piece` elements of a row. Strides are those of src, in elements.
struct widen_problem {
    arg_i64 k, piece;
    arg_i64 wide_row; // elements from row to row of the copy
    arg_i64 offset0;
    arg_i64 dims[MATMUL_MAX_BATCH_NDIMS + 1]; // of the batch, and M
    arg_i64 strides[MATMUL_MAX_BATCH_NDIMS + 1];
    arg_i64 column;
    arg_i32 ndims, unused; // dims that are used
};

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

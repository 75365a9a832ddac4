// SPDX-License-Identifier: Apache-2.0
// The argument blocks of arrange_src.cl and widen_src.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

// src is [batch.., m, k]. The result has dense rows of `pitch` elements, which are zeros behind K.
struct arrange_problem {
    arg_i64 m, k, pitch;
    struct tensor_arg src;
    struct tensor_arg scale;                    // src is multiplied by it, if it has a type
    arg_i64 batch_dims[MATMUL_MAX_BATCH_NDIMS]; // of src
    arg_i32 batch_ndims;
    // The order of each so many elements of K (policy/xe/xe_small_floats.h). 4: 0 2 1 3; 8: 0 4 1 5 2 6 3 7;
    // 1: as they are.
    arg_i32 unit;
};

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

// SPDX-License-Identifier: Apache-2.0
// The argument of the kernel of attention.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

#define ATTENTION_SPEC_TYPE 0 // of q, k, v and dst: f32, f16 or bf16
#define ATTENTION_SPEC_ROWS 1 // heads of q that a work-item computes: 1 to 4, a divisor of `shared`
#define ATTENTION_MOST_WIDTH 512

// q and dst are [batch, heads, shared, width], dense; k and v are [batch, heads, tokens, width] with strides
// of elements for the first three dimensions. `shared` heads of q have the same k and v.
struct attention_arguments {
    arg_u64 q, k, v, dst;
    arg_u64 mask; // u8 [batch or 1, tokens]: 0 where a token is not seen; 0: there is none
    arg_i64 heads, shared, tokens;
    arg_i64 width; // a multiple of 16, at most ATTENTION_MOST_WIDTH
    arg_i64 k_strides[3], v_strides[3];
    arg_i64 mask_stride; // from one of the batch to the next
    float scale;
};

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

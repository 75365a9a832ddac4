// SPDX-License-Identifier: Apache-2.0
// The argument block of finish_dst.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"
#include "reorder_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

struct finish_problem {
    struct matmul_problem matmul; // m, n, the batch, dst, bias, scale and zero point of dst, post-ops
    arg_i64 piece;                // columns of a work-item, a multiple of chunk
    arg_i32 chunk;                // columns that are finished at once, at most FINISH_COLUMNS
    arg_i32 has_dropout;
    struct tensor_arg dropout_mask; // no tensor if no mask is written
    arg_i32 seed_is_s64;
    arg_i32 random_on_host; // probability, seed and offset are host scalars
    // Dynamic scales: a group is a chunk. The largest value of dst's type, and its exponent in an f32.
    arg_i32 dynamic_scales; // enum dynamic_scales
    arg_i32 largest_exponent;
    float largest;
    // Stochastic rounding: the bits of an f32 that dst's type does not keep, those of a random number (0:
    // rounded to nearest), the smallest normal value, and the largest, which is that of f32 where dst has
    // integers: stores saturate those.
    arg_i32 dropped_bits, random_bits;
    float smallest, largest_rounded;
    arg_i32 saturates;                 // what is larger than `largest` becomes it; NaN stays
    struct reorder_tensor blocked_dst; // where a reorder moves dst to; inner_nblks is 0 if none does
};

enum dynamic_scales { DYNAMIC_NONE, DYNAMIC_MX, DYNAMIC_FP };

// The 64-bit members are device addresses; 0: there is none. The values on the host are read if
// random_on_host is 1.
struct finish_arguments {
    arg_u64 dropout_mask, probability, seed, offset, rounding_seed, dst_scale;
    arg_i64 host_seed, host_offset;
    float host_probability;
    arg_i32 padding;
};

#define FINISH_COLUMNS 32

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

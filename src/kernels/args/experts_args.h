// SPDX-License-Identifier: Apache-2.0
// The argument of the kernels of experts.cl: see matmul_args.h.
#pragma once

#include "matmul_args.h"

#ifndef __OPENCL_C_VERSION__
namespace zemm::kernels {
#endif

enum experts_activation {
#define ZEMM_GATE(name) GATE_##name,
#include "lists/algs.def"
    GATE_COUNT
};

// Tensors are dense, and given by their addresses. A row is a token with one of its experts.
struct experts_arguments {
    arg_u64 src, dst;
    arg_u64 index;   // s64 [tokens, top_k]: the experts of each token
    arg_u64 routes;  // s32 [experts + rows]: where the rows of each expert end, then the row of each index
    arg_u64 columns; // s64 [experts, width]: the column of src for each one of dst; 0: as they come
    arg_u64 weights; // [tokens, top_k]: the factors of the rows
    // Of a dst that is quantised to s8: its scales, f32 [rows, groups], and its sums, s32 [rows, groups]; 0:
    // dst is not quantised.
    arg_u64 scales, sums;
    arg_u64 rows;  // [work-items, width] of dst_type: what each quantises
    arg_i64 group; // elements of a row that share a scale
    arg_i64 sums_group, groups, sums_groups;
    arg_i64 count; // of what work-items share: tokens with takes_tokens and in combine, else rows
    arg_i64 per_item, top_k, experts;
    arg_i64 width; // of a row of dst
    arg_i32 src_type, weights_type;
    arg_i32 dst_type;     // of rows before they are quantised
    arg_i32 activation;   // enum experts_activation
    arg_i32 takes_tokens; // gather: a token is quantised once for all of its rows
    arg_i32 is_gated, is_interleaved;
    arg_i32 padding;
    float alpha, gate_most, up_most, up_shift;
};

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

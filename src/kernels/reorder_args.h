// SPDX-License-Identifier: Apache-2.0
// What the host passes to the reorder kernels: an argument block per primitive and a small struct
// per execution. Compiled as C++ and as OpenCL C; every member has the same size and offset in
// both.
#pragma once

#ifdef __OPENCL_C_VERSION__
typedef long reorder_i64;
typedef ulong reorder_u64;
typedef int reorder_i32;
#else
#include <cstdint>
namespace zemm::kernels {
using reorder_i64 = int64_t;
using reorder_u64 = uint64_t;
using reorder_i32 = int32_t;
#endif

#define REORDER_MAX_NDIMS 12
#define REORDER_MAX_LOOPS 24 // outer dimensions and inner blocks

// One loop over dst: over a dimension, or over one of its inner blocks.
struct reorder_loop {
    reorder_i64 size;
    reorder_i64 dim;        // the dimension whose coordinate it advances
    reorder_i64 step;       // by how much
    reorder_i64 dst_stride; // elements
    reorder_i64 src_stride; // elements; only for a src without inner blocks
};

// Where a scale or zero point is: at the sum of (coordinate / group) * stride, in elements. Strides
// are 0 in dimensions that share a value.
struct reorder_parameter {
    reorder_i64 strides[REORDER_MAX_NDIMS];
    reorder_i64 row_group, column_group; // of the last two dimensions
    reorder_i32 data_type;               // zemm_data_type_t
    reorder_i32 on_host;                 // 1: a host scalar; its value is in reorder_arguments
};

// The argument block of reorder.cl. A run is a piece of loops[0]. A work-item converts
// runs_per_item runs.
struct reorder_problem {
    reorder_i32 ndims, nloops;
    reorder_i64 dims[REORDER_MAX_NDIMS], padded_dims[REORDER_MAX_NDIMS];
    struct reorder_loop loops[REORDER_MAX_LOOPS]; // innermost first
    reorder_i64 piece, pieces;                    // elements in a run, and runs along loops[0]
    reorder_i64 runs, runs_per_item;
    reorder_i64 src_offset, dst_offset;
    // Only for a src with inner blocks.
    reorder_i64 src_strides[REORDER_MAX_NDIMS], src_blocks[REORDER_MAX_NDIMS];
    reorder_i64 src_inner_blks[REORDER_MAX_NDIMS], src_inner_idxs[REORDER_MAX_NDIMS];
    reorder_i32 src_inner_nblks;
    float beta; // scale of the sum post-op
    struct reorder_parameter src_scale, dst_scale, src_zp, dst_zp;
};

// The argument block of reorder_pack.cl and reorder_pack_lanes.cl: plain [.., K, N] to blocks of
// PACK_K units x columns. A unit is the elements of one column that are side by side in the block:
// 4 for elements of 4 or 8 bits, else 1.
#define PACK_K 16
struct pack_problem {
    reorder_i64 k, n;
    reorder_i64 src_offset, src_k, src_n; // elements
    reorder_i64 dst_offset, dst_k, dst_n; // elements; strides are from block to block
    reorder_i64 k_blocks, k_blocks_per_item;
    reorder_i32 columns; // columns of a block, a multiple of 16
    reorder_i32 batch_ndims;
    reorder_i64 batch_dims[REORDER_MAX_NDIMS], src_batch[REORDER_MAX_NDIMS], dst_batch[REORDER_MAX_NDIMS];
};

// The argument block of quantize.cl: rows to s8 or u8, with a scale for each group and a sum for
// each reduction of elements. The length of one divides the other. The longer one is a unit, which
// divides a row; the shorter one is a part.
struct quantize_problem {
    reorder_i64 group, unit, part; // elements
    reorder_i64 groups_of_unit, reductions_of_unit, parts_of_reduction, units_of_row;
    reorder_i64 units, units_per_item; // units of all rows
    reorder_i64 src_offset, dst_offset;
    reorder_i32 row_ndims; // all dimensions but the last
    reorder_i32 padding;
    reorder_i64 row_dims[REORDER_MAX_NDIMS], src_strides[REORDER_MAX_NDIMS], dst_strides[REORDER_MAX_NDIMS];
};

// Passed by value at each execution. The 64-bit members are device addresses.
struct reorder_arguments {
    reorder_u64 src_scale, dst_scale, src_zp, dst_zp, reductions;
    float host_src_scale, host_dst_scale; // read where on_host is 1
    reorder_i32 host_src_zp, host_dst_zp;
};

// Specialisation constants. They only remove code that a reorder does not need.
#define REORDER_SPEC_SRC_DT 0
#define REORDER_SPEC_DST_DT 1
#define REORDER_SPEC_FLAGS 2
#define REORDER_SPEC_BITS 3     // reorder, pack: bits of an element that is copied as it is
#define REORDER_SPEC_SCALE_DT 4 // quantize
#define REORDER_SPEC_VECTORS 5  // quantize: vectors of 16 in a group that is one part; else 0

#define QUANTIZE_MAX_VECTORS 8

// Bits of REORDER_SPEC_FLAGS.
#define REORDER_COPY 1        // same type, no attributes: elements are copied as they are
#define REORDER_INTEGER 2     // integers to integers without scales and sum: s64 arithmetic
#define REORDER_SRC_BLOCKED 4 // src has inner blocks
#define REORDER_SRC_SCALE 8
#define REORDER_DST_SCALE 16
#define REORDER_SRC_ZP 32
#define REORDER_DST_ZP 64
#define REORDER_SUM 128
#define PACK_K_CONTIGUOUS 256     // src has stride 1 along K, else along N
#define QUANTIZE_REDUCTIONS 512   // write sums
#define QUANTIZE_ZERO_POINTS 1024 // u8 with zero points, else s8

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

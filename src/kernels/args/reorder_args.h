// SPDX-License-Identifier: Apache-2.0
// Arguments of the reorder kernels: an argument block per primitive and a small struct
// per execution. Compiled as C++ and as OpenCL C; every member has the same size and offset in
// both.
#pragma once

#ifdef __OPENCL_C_VERSION__
typedef long reorder_i64;
typedef ulong reorder_u64;
typedef int reorder_i32;
typedef uint reorder_u32;
#else
#include <cstdint>
namespace zemm::kernels {
using reorder_i64 = int64_t;
using reorder_u64 = uint64_t;
using reorder_i32 = int32_t;
using reorder_u32 = uint32_t;
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

// Where the elements of a tensor are. An element's block is at the offset plus the sum of
// coordinate / block * stride; its place in the block follows from the inner blocks. All in elements.
struct reorder_tensor {
    reorder_i64 offset;
    reorder_i64 strides[REORDER_MAX_NDIMS], blocks[REORDER_MAX_NDIMS];
    reorder_i64 inner_blks[REORDER_MAX_NDIMS], inner_idxs[REORDER_MAX_NDIMS];
    reorder_i64 inner_nblks;
};

// The argument block of reorder.cl. A run is a piece of loops[0]. A work-item converts
// runs_per_item runs.
struct reorder_problem {
    reorder_i32 ndims, nloops;
    reorder_i64 dims[REORDER_MAX_NDIMS], padded_dims[REORDER_MAX_NDIMS];
    struct reorder_loop loops[REORDER_MAX_LOOPS]; // innermost first
    reorder_i64 piece, pieces;                    // elements in a run, and runs along loops[0]
    reorder_i64 runs, runs_per_item;
    reorder_i64 dst_offset;
    struct reorder_tensor src;
    float beta; // scale of the sum post-op
    // Stochastic rounding: the bits of an f32 that dst's type does not keep; its largest (also for
    // REORDER_SATURATE) and its smallest normal value.
    reorder_u32 dropped;
    float most, smallest;
    struct reorder_parameter src_scale, dst_scale, src_zp, dst_zp;
};

// The argument block of reorder_pack.cl and reorder_pack_lanes.cl: plain [.., K, N] to blocks of
// PACK_K units x columns. A unit is the elements of one column that are side by side in the block:
// 4 for elements of up to 8 bits, else 1. Units of 2-bit elements are those of four columns, whose elements
// of the same k share a byte.
#define PACK_K 16
#define PACK_TOGETHER(bits) ((bits) == 2 ? 4 : 1) // columns that share the bytes of a unit
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
// each reduction of elements. The length of one divides the other. The longer one is a unit, the shorter one
// a part. The last ones of a row end with it.
struct quantize_problem {
    reorder_i64 row, group, unit, part; // elements
    reorder_i64 groups_of_unit, reductions_of_unit, parts_of_reduction;
    reorder_i64 groups_of_row, reductions_of_row, units_of_row;
    reorder_i64 units, units_per_item; // units of all rows
    reorder_i64 src_offset, dst_offset;
    reorder_i32 row_ndims; // all dimensions but the last
    reorder_i32 padding;
    reorder_i64 row_dims[REORDER_MAX_NDIMS], src_strides[REORDER_MAX_NDIMS], dst_strides[REORDER_MAX_NDIMS];
};

// The argument block of quantize_floats.cl: groups along a dimension become f8 or f4, with a scale for
// each group. Groups in the padding of dst are also counted.
struct group_problem {
    reorder_i32 ndims, along;                                            // along: the dimension of the groups
    reorder_i64 dims[REORDER_MAX_NDIMS], padded_dims[REORDER_MAX_NDIMS]; // of dst
    reorder_i64 counts[REORDER_MAX_NDIMS];                               // groups along each dimension
    reorder_i64 scale_strides[REORDER_MAX_NDIMS];
    struct reorder_tensor src, dst;
    reorder_i64 groups, groups_per_item;
    float most; // the largest value of dst's type, and its exponent as an f32 has it
    reorder_i32 most_exponent;
};

// Passed by value at each execution. The 64-bit members are device addresses.
struct reorder_arguments {
    reorder_u64 src_scale, dst_scale, src_zp, dst_zp, reductions, rounding_seed;
    float host_src_scale, host_dst_scale; // read where on_host is 1
    reorder_i32 host_src_zp, host_dst_zp;
};

// Specialisation constants. They only remove code that a reorder does not need.
#define REORDER_SPEC_SRC_DT 0
#define REORDER_SPEC_DST_DT 1
#define REORDER_SPEC_FLAGS 2
#define REORDER_SPEC_BITS 3     // reorder, pack: bits of an element that is copied as it is
#define REORDER_SPEC_SCALE_DT 4 // quantize
#define REORDER_SPEC_VECTORS 5  // vectors of 16 in a group; quantize: 0 if it is not one part

// Bits of REORDER_SPEC_FLAGS.
#define REORDER_COPY 1        // same type, no attributes: elements are copied as they are
#define REORDER_INTEGER 2     // integers to integers without scales and sum: s64 arithmetic
#define REORDER_SRC_BLOCKED 4 // src has inner blocks
#define REORDER_SRC_SCALE 8
#define REORDER_DST_SCALE 16
#define REORDER_SRC_ZP 32
#define REORDER_DST_ZP 64
#define REORDER_SUM 128
#define PACK_K_CONTIGUOUS 256         // src has stride 1 along K, else along N
#define QUANTIZE_REDUCTIONS 512       // write sums
#define QUANTIZE_ZERO_POINTS 1024     // u8 with zero points, else s8
#define QUANTIZE_REDUCED_RANGE 262144 // to 7 bits
// quantize_floats:
#define QUANTIZE_MX 2048            // scales are powers of two
#define QUANTIZE_DST_BLOCKED 4096   // dst has inner blocks
#define QUANTIZE_SRC_ROWS 8192      // the elements of a group are next to each other
#define QUANTIZE_DST_ROWS 16384     // the same
#define QUANTIZE_SHARED_BYTES 32768 // two groups may share a byte of dst
#define SPARSIFY_COUNTS 65536       // the first launch
#define REORDER_STOCHASTIC 131072   // dst is rounded at random
#define REORDER_SATURATE 524288     // what is too large for dst becomes its largest value; NaN stays

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

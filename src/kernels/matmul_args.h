// SPDX-License-Identifier: Apache-2.0
// What the host tells the matmul kernels: one constant block per primitive and one small block per execution.
// Compiled by the C++ compiler and as OpenCL C; every member has the same size and offset in both.
#pragma once

#ifdef __OPENCL_C_VERSION__
typedef long arg_i64;
typedef ulong arg_u64;
typedef int arg_i32;
#else
#include <cstdint>
namespace zemm::kernels {
using arg_i64 = int64_t;
using arg_u64 = uint64_t;
using arg_i32 = int32_t;
#endif

#define MATMUL_MAX_BATCH_NDIMS 10
#define MATMUL_MAX_POST_OPS 32

// Where element (batch.., row, column) of a tensor lies: offset0 + sum of coordinate * stride, in elements.
// Strides are 0 where the tensor is broadcast. Quantisation parameters divide row and column by their group
// first.
struct tensor_arg {
    arg_i64 offset0;
    arg_i64 batch[MATMUL_MAX_BATCH_NDIMS];
    arg_i64 row, column;
    arg_i64 row_group, column_group;
    arg_i32 data_type; // zemm_data_type_t
    arg_i32 on_host;   // 1: the value is in matmul_arguments instead
};

struct post_op_arg {
    arg_i32 alg; // zemm_alg_kind_t of an eltwise or binary; POST_OP_SUM, POST_OP_PRELU
    arg_i32 zero_point;
    float alpha; // sum: the scale
    float beta;
    struct tensor_arg src1; // binary: src1; prelu: the slopes; sum: data_type only
    struct tensor_arg src2; // binary_select: the condition
};

#define POST_OP_SUM 1
#define POST_OP_PRELU 2

// Fixed at creation. rows counts what one index of the second grid dimension walks over: M, or batch * M when
// the weights are the same for the whole batch.
struct matmul_problem {
    arg_i64 m, n, k;
    arg_i64 rows;
    // Elements of K between two applications of scales and zero points; divides k but for FLAG_WIDE_SUMS,
    // where the last segment may be shorter.
    arg_i64 segment;
    arg_i64 wei_panel;   // packed weights: elements from one panel of 64 columns to the next
    arg_i32 tile_rows;   // rows of one work-item, at most TILE_M
    arg_i32 finish_rows; // of one work-item in STAGE_FINISH
    // Xe rows: work-groups along M, and how many of them one strip of the grid has; a strip runs column by
    // column.
    arg_i32 groups_m, strip;
    arg_i32 group_x, group_y; // Xe rows: tiles of a group
    // With FLAG_SLICES: groups of tiles whose sub-groups have a tile each; of the others so many share one,
    // each with k_slice of K.
    arg_i32 whole_groups, slices;
    arg_i64 k_slice;
    arg_i64 k_range; // elements of K of one work-item
    // Elements from row to row, and from range of K to range of K, of the sums in STAGE_PARTIAL; rows are
    // those of dst, of the whole batch.
    arg_i64 partial_row, partial_range;
    arg_i32 batch_ndims;
    arg_i32 post_ops_len;
    arg_i64 batch_dims[MATMUL_MAX_BATCH_NDIMS]; // of dst
    struct tensor_arg src, wei, dst, bias;
    struct tensor_arg src_scale, wei_scale, dst_scale; // grid: src (M, K), wei (K, N), dst (M, N)
    struct tensor_arg src_zp, wei_zp, dst_zp;
    struct tensor_arg reductions; // (M, K / segment): sums of src over segments of K, s32
    struct post_op_arg post_ops[MATMUL_MAX_POST_OPS];
};

// Passed by value at each execution. The 64-bit members are addresses on the device.
struct matmul_arguments {
    arg_u64 bias, src_scale, wei_scale, dst_scale, src_zp, wei_zp, dst_zp, reductions, partials;
    arg_u64 post_op_src1[MATMUL_MAX_POST_OPS];
    arg_u64 post_op_src2[MATMUL_MAX_POST_OPS];
    float host_src_scale, host_wei_scale, host_dst_scale; // read where on_host is 1
    arg_i32 host_src_zp, host_wei_zp, host_dst_zp;
};

// Specialisation constants: they only prune code. Values of the types are zemm_data_type_t.
#define SPEC_SRC_DT 0
#define SPEC_WEI_DT 1
#define SPEC_DST_DT 2
#define SPEC_FLAGS 3
#define SPEC_SRC_UNIT 4 // UNIT_...: how neighbours lie in src
#define SPEC_WEI_UNIT 5
#define SPEC_SRC_SCALE_DT 6 // of the parameters; 0: a host scalar, in matmul_arguments
#define SPEC_WEI_SCALE_DT 7
#define SPEC_SRC_ZP_DT 8
#define SPEC_WEI_ZP_DT 9
// Xe rows: elements of K in a panel, at most TILE_K, and panels in a block, at most MOST_PANELS; blocks
// divide each segment but all of K.
#define SPEC_PANEL_K 10
#define SPEC_PANELS 11
#define SPEC_STAGE 12    // enum stage
#define SPEC_ZP_TERM 13  // enum zp_term
#define SPEC_SRC_LOAD 14 // Xe rows: enum src_load

#define REDUCE_SEGMENTS 32 // of a row, summed by one work-item of reduce_src

#define UNIT_NONE 0
#define UNIT_ROW 1    // the row dimension has stride 1
#define UNIT_COLUMN 2 // the column dimension has stride 1
// Weights only: panels of PACKED_N columns, one after the other. 8-bit and 4-bit integers: groups of four of
// K, then the columns, then the four (BA16a64b4a and its batched forms); others: K, then the columns
// (BA16a64b). Padding is zero.
#define UNIT_PACKED 3
#define PACKED_N 64

// Values of SPEC_STAGE.
enum stage {
    STAGE_WHOLE,   // a launch makes all of dst
    STAGE_PARTIAL, // a work-item leaves the sums of its range of K in partials
    STAGE_FINISH   // a second launch adds up the partials and goes on from there
};

// Values of SPEC_SRC_LOAD: how Xe rows read src.
enum src_load {
    SRC_LOAD_GATHER, // element by element
    SRC_LOAD_1D,     // by block loads in one dimension
    SRC_LOAD_2D      // by 2-D block loads
};

// Values of SPEC_ZP_TERM: zero points of the weights times sums of src.
enum zp_term {
    ZP_TERM_S32,
    ZP_TERM_S16, // both factors fit 16 bits, the product is an s32
    ZP_TERM_F32  // exact in f32
};

// Bits of SPEC_FLAGS.
#define FLAG_INTEGER (1u << 0)   // s32 accumulation, else f32
#define FLAG_EXACT_S32 (1u << 1) // s32 dst of a bare integer matmul: stored without passing through f32
#define FLAG_WIDE_SUMS (1u << 2) // an s32 holds the sums of ranges of K, not their sum
#define FLAG_SRC_ZP (1u << 3)
#define FLAG_WEI_ZP (1u << 4)
#define FLAG_WEI_ZP_K (1u << 5)   // weights zero points change along K
#define FLAG_REDUCTIONS (1u << 6) // sums of src are needed: weights have zero points or change signedness
#define FLAG_SRC_SCALE (1u << 7)
#define FLAG_SRC_SCALE_K (1u << 8) // src scales change along K: the sum of each segment is scaled
#define FLAG_WEI_SCALE (1u << 9)
#define FLAG_WEI_SCALE_K (1u << 10)    // likewise weights scales
#define FLAG_EQUAL_GROUPS (1u << 11)   // all parameters that change along K do so at each segment
#define FLAG_WHOLE_SEGMENTS (1u << 12) // a segment is at most a block long
#define FLAG_BIAS (1u << 13)
#define FLAG_POST_OPS (1u << 14)
#define FLAG_DST_SCALE (1u << 15)
#define FLAG_DST_ZP (1u << 16)
#define FLAG_ONE_GROUP (1u << 17) // CPU rows: a tile has at most ROWS rows
#define FLAG_ALONG_K (1u << 18)   // CPU rows: few rows, weights that lie along K in segments of whole vectors
#define FLAG_QUAD_TAIL (1u << 19) // CPU rows of bytes: K is no multiple of 4
#define FLAG_ONE_MATRIX (1u << 20) // Xe rows: a tile's rows are rows of one matrix of the batch
#define FLAG_PANEL_TAIL (1u << 21) // Xe rows: K is no multiple of a panel
#define FLAG_WEI_2D (1u << 22)     // Xe rows: 2-D block loads can read the weights
#define FLAG_SPLIT_F32 (1u << 23)  // Xe rows: f32 becomes sums of two bf16
#define FLAG_SLICES (1u << 24)     // Xe rows: sub-groups of a work-group share tiles along K

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

// SPDX-License-Identifier: Apache-2.0
// Arguments of the matmul kernels: an argument block per primitive and a small struct
// per execution. Compiled as C++ and as OpenCL C; every member has the same size and offset in
// both.
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

// Where a tensor has element (batch.., row, column): at offset0 + sum of coordinate * stride, in
// elements. Strides are 0 in dimensions that are broadcast. For scales and zero points, row and
// column are first divided by row_group and column_group.
struct tensor_arg {
    arg_i64 offset0;
    arg_i64 batch[MATMUL_MAX_BATCH_NDIMS];
    arg_i64 row, column;
    arg_i64 row_group, column_group;
    arg_i32 data_type; // zemm_data_type_t; 0: no tensor
    arg_i32 on_host;   // 1: a host scalar; its value is in matmul_arguments
};

struct post_op_arg {
    arg_i32 alg;        // zemm_alg_kind_t of an eltwise or binary, or enum post_op_kind
    arg_i32 zero_point; // sum
    float alpha;        // sum: the scale
    float beta;
    struct tensor_arg src1; // binary: src1; prelu: the slopes; sum: data_type only
    struct tensor_arg src2; // binary_select: the condition
};

// The argument block, fixed when the primitive is created. "Xe rows" are the rows of kernels.def
// where a sub-group owns a tile.
struct matmul_problem {
    arg_i64 m, n, k;
    // Rows that one index of the second grid dimension covers: M, or batch * M if the batch shares
    // the weights.
    arg_i64 rows;
    // Elements of K in a segment, at whose end scales and zero points are applied. It divides k,
    // except with FLAG_WIDE_SUMS, where the last segment may be shorter.
    arg_i64 segment;
    arg_i64 wei_panel;   // packed weights: elements from one panel of 64 columns to the next
    arg_i32 tile_rows;   // rows of a tile, at most TILE_M
    arg_i32 adding_rows; // the same in STAGE_ADD_RANGES
    // groups_m: work-groups along M (Xe rows only). strip: how many of them a strip has. Work-groups are
    // numbered strip by strip, and column by column within a strip.
    arg_i32 groups_m, strip;
    arg_i32 abreast;          // tiles of a work-item: 1, or with FLAG_ABREAST up to MOST_ABREAST
    arg_i32 grouping;         // enum grouping
    arg_i32 group_x, group_y; // Xe rows: tiles along N and M in a group
    // With FLAG_SLICES: in the first whole_groups groups of tiles, each tile has one sub-group. In
    // the others, `slices` sub-groups share a tile, each with k_slice elements of K.
    arg_i32 whole_groups, slices;
    arg_i64 k_slice;
    // Elements of K in a range: one index of the third grid dimension. With K_GROUPS each group is cut into
    // ranges from its first element on; those behind its last one are empty.
    arg_i64 k_range;
    // In STAGE_PARTIAL: elements from row to row, and from range to range, of the sums in the
    // scratchpad. Their rows are those of the whole batch of dst.
    arg_i64 partial_row, partial_range;
    arg_i32 batch_ndims;
    arg_i32 post_ops_len;
    arg_i64 batch_dims[MATMUL_MAX_BATCH_NDIMS]; // of dst
    struct tensor_arg src, wei, dst, bias;
    // (row, column) of scales and zero points: (M, K) of src, (K, N) of wei, (M, N) of dst.
    struct tensor_arg src_scale, wei_scale, dst_scale;
    struct tensor_arg src_zp, wei_zp, dst_zp;
    // Factors of scales and of offsets of the weights. row_group: all of K if they do not change along it.
    struct tensor_arg wei_scale_factor, wei_zp_factor;
    struct tensor_arg reductions; // [batch.., M, K / segment] s32: sums of src over each segment
    struct post_op_arg post_ops[MATMUL_MAX_POST_OPS];
};

// A part of a grouped matmul: rows of src and dst that one tile has and one group's weights multiply
// (ROW_GROUPS), or the elements of K of a group (K_GROUPS).
struct group_part {
    arg_i32 group;
    arg_i32 begin, count;
};

// Passed by value at each execution. The 64-bit members are device addresses.
struct matmul_arguments {
    arg_u64 bias, src_scale, wei_scale, dst_scale, src_zp, wei_zp, dst_zp, reductions, partials;
    arg_u64 wei_scale_factor, wei_zp_factor;
    // Grouped matmuls: an array of group_part, with an entry for each tile along M (ROW_GROUPS) or for each
    // group (K_GROUPS).
    arg_u64 groups;
    arg_u64 post_op_src1[MATMUL_MAX_POST_OPS];
    arg_u64 post_op_src2[MATMUL_MAX_POST_OPS];
    float host_src_scale, host_wei_scale, host_dst_scale; // read where on_host is 1
    arg_i32 host_src_zp, host_wei_zp, host_dst_zp;        // with FLAG_FLOAT_ZP wei: bits of an f32
};

// Specialisation constants. They only remove code that a problem does not need. Types are
// zemm_data_type_t.
#define SPEC_SRC_DT 0
#define SPEC_WEI_DT 1
#define SPEC_DST_DT 2
#define SPEC_FLAGS 3
#define SPEC_SRC_UNIT 4 // UNIT_...
#define SPEC_WEI_UNIT 5
#define SPEC_SRC_SCALE_DT 6 // type of the tensor; 0: none, or a host scalar; TYPE_IN_BLOCK
#define SPEC_WEI_SCALE_DT 7
#define SPEC_SRC_ZP_DT 8
#define SPEC_WEI_ZP_DT 9
#define SPEC_STAGE 10   // enum stage
#define SPEC_ZP_TERM 11 // enum zp_term
// Xe rows: elements of K in a panel, at most TILE_K, and panels in a block, 1 or 2. Blocks divide
// each segment unless all of K is one segment.
#define SPEC_PANEL_K 12
#define SPEC_PANELS 13
#define SPEC_SRC_LOAD 14 // Xe rows: enum src_load
#define SPEC_TILES 15    // rows with AMX: enum tiles
#define SPEC_LOOK_UP 16  // rows of f32 with AVX512: policy/cpu/small_words.h may use AVX512_VBMI
// policy/cpu/quantized_row.h: the type of src, 0 if it is quantised already, and vectors of 16 in a group
#define SPEC_QUANTIZED_DT 17
#define SPEC_QUANTIZED_VECTORS 18
#define SPEC_WEI_SCALE_FACTOR_DT 19 // 0: there are none
#define SPEC_WEI_ZP_FACTOR_DT 20    // of offsets
#define SPEC_TILE_BYTES 21          // rows of bytes with AMX: of K, in a tile: 64, or 32 for groups of 32

#define TYPE_IN_BLOCK 255 // the kernel reads the type from the argument block

#define REDUCE_SEGMENTS 32 // segments of a row that one work-item of reduce_src sums

// The contiguous dimension of src or of the weights.
#define UNIT_NONE 0
#define UNIT_ROW 1    // the row dimension has stride 1
#define UNIT_COLUMN 2 // the column dimension has stride 1
// Weights only: packed in panels of PACKED_N columns. In a panel, f32, f16 and bf16 have one row of
// K after the other (BA16a64b and its batched forms). Types of 8 and 4 bits have, for each four
// of K, the four elements of each column (BA16a64b4a). Padding is zero.
#define UNIT_PACKED 3
#define PACKED_N 64

// Values of SPEC_STAGE. Rows that are not Xe rows run both of the first two with STAGE_WHOLE: they
// see in the argument block whether K is split.
enum stage {
    STAGE_WHOLE,     // one launch computes dst
    STAGE_PARTIAL,   // K is split into ranges: their sums are written to partials
    STAGE_ADD_RANGES // the second launch: adds up the partials and finishes the rows
};

// Values of matmul_problem.grouping. A grouped matmul is a batch with a matrix for each group. The
// matrices of src, and of dst or of the weights, lie in one place: stride 0 along the batch.
enum grouping {
    NO_GROUPS,
    ROW_GROUPS, // each matrix of the batch has only the rows of its group
    K_GROUPS    // each matrix of the batch is the sum over the group's part of K
};

// Values of SPEC_SRC_LOAD: how Xe rows read src.
enum src_load {
    SRC_LOAD_GATHER, // element by element
    SRC_LOAD_1D,     // by 1-D block loads
    SRC_LOAD_2D      // by 2-D block loads
};

// Values of SPEC_TILES: what has the tiles of AMX.
enum tiles {
    TILES_IN_SOFTWARE, // for CPUs without AMX, whose compiler does not know the instructions
    TILES_IN_HARDWARE
};

// Values of SPEC_ZP_TERM: how zero points of the weights are multiplied with sums of src.
enum zp_term {
    ZP_TERM_S32,
    ZP_TERM_S16, // the factors fit into 16 bits, the product is s32
    ZP_TERM_F32, // in f32, which is exact unless zero points are floats
    ZP_TERM_LAST // the mean of the zero points in s32, the rest in f32, once for all of K
};

// Bits of SPEC_FLAGS.
#define FLAG_INTEGER (1u << 0)   // sums are s32, else f32
#define FLAG_EXACT_S32 (1u << 1) // the s32 sums are the results: stored without conversion
#define FLAG_WIDE_SUMS (1u << 2) // an s32 holds the sum of a range of K, but not of all K
#define FLAG_SRC_ZP (1u << 3)
#define FLAG_WEI_ZP (1u << 4)
#define FLAG_WEI_ZP_K (1u << 5) // weights zero points change along K
// Sums of src are needed: weights have zero points, or the policy flips their sign bit.
#define FLAG_REDUCTIONS (1u << 6)
#define FLAG_SRC_SCALE (1u << 7)
#define FLAG_SRC_SCALE_K (1u << 8) // src scales change along K: the sum of each segment is scaled
#define FLAG_WEI_SCALE (1u << 9)
#define FLAG_WEI_SCALE_K (1u << 10)    // weights scales change along K
#define FLAG_EQUAL_GROUPS (1u << 11)   // what changes along K does so at each segment
#define FLAG_WHOLE_SEGMENTS (1u << 12) // a segment is at most one block
#define FLAG_BIAS (1u << 13)
#define FLAG_POST_OPS (1u << 14)
#define FLAG_DST_SCALE (1u << 15)
#define FLAG_DST_ZP (1u << 16)
#define FLAG_ONE_GROUP (1u << 17)  // CPU rows: a tile has at most ROWS rows
#define FLAG_ALONG_K (1u << 18)    // CPU rows: few rows, no panel (policy/*_along_k.h)
#define FLAG_QUAD_TAIL (1u << 19)  // CPU rows of bytes: K is no multiple of 4
#define FLAG_ONE_MATRIX (1u << 20) // Xe rows: a tile's rows are rows of one matrix of the batch
// CPU rows: tiles have up to MOST_FEW_ROWS rows, which have a loop of their own (owner/work_item/few_rows.h).
#define FLAG_FEW_ROWS (1u << 20)
#define FLAG_PANEL_TAIL (1u << 21) // Xe rows: K is no multiple of a panel or of a segment
#define FLAG_WEI_2D (1u << 22)     // Xe rows: 2-D block loads can read the weights
// A value of src is the sum of two bf16. Xe rows split f32, and of the weights, too. For rows with AMX,
// widen_src has split f16.
#define FLAG_SPLIT (1u << 23)
#define FLAG_SLICES (1u << 24)   // Xe rows: sub-groups share a tile, each with a slice of K
#define FLAG_SUM_BITS (1u << 25) // Xe rows: s32 sums are also the bits of an f32 (SUM_BEGIN)
// CPU rows: a work-item computes several neighbouring tiles (owner/work_item/abreast.h).
#define FLAG_ABREAST (1u << 26)
#define FLAG_FLOAT_ZP (1u << 27)   // weights zero points are floats; kernels keep them as bits of f32
#define FLAG_ROW_GROUPS (1u << 28) // Xe rows: ROW_GROUPS
#define FLAG_ARRANGED (1u << 29)   // Xe rows: src is what arrange_src wrote: rows are padded with zeros
// CPU rows with AVX2: src has 7 bits, so that products of pairs of bytes fit into 16 bits.
#define FLAG_REDUCED_RANGE (1u << 30)
// With FLAG_FLOAT_ZP: the floats are offsets of the weights, which are scale * value + offset.
#define FLAG_OFFSETS (1u << 31)

// Bytes. Rows of src that are a multiple of this apart fall into so few sets of the first-level cache that
// the tiles of AMX displace their own rows.
#define STRIDE_OF_SETS 2048
// Elements from row to row of a src that is copied for tiles of AMX. line: elements in a cache line. Rows
// begin at cache lines, an odd number of lines apart. With FLAG_SPLIT the first bf16 of the elements of a row
// are such a row, and the second ones the next.
#define WIDE_ROW(k, line) ((((k) + (line)-1) / (line) | 1) * (line))

#define MOST_FEW_ROWS 16
#define MOST_ABREAST 16
#define BLOCK_ABREAST 16   // elements of K in a block with FLAG_ABREAST
#define BLOCK_ALONG_N 128  // the same with FLAG_ONE_GROUP, too: there is no panel (policy/cpu/int8_along_n.h)
#define BLOCK_ALONG_K 1024 // elements of K in a block with FLAG_ALONG_K
#define MOST_ROWS_ALONG_K 8 // rows of src of floats, at most, with FLAG_ALONG_K

#ifndef __OPENCL_C_VERSION__
} // namespace zemm::kernels
#endif

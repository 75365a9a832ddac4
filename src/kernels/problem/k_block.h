// SPDX-License-Identifier: Apache-2.0
// A block of K, and the scales, zero points and corrections that a group of rows needs of it. Both
// owners include this after their vectors.h.
#pragma once

#include "problem/parameters.h"
#include "problem/spec.h"
#include "problem/tensor.h"

#define SEGMENTS_ARE_SCALED (HAS(FLAG_SRC_SCALE_K) || HAS(FLAG_WEI_SCALE_K))

// Elements from one group of K to the next, in each tensor.
struct steps {
    parameter_index src_scale, src_zp, reductions, wei_scale, wei_zp;
};

static inline struct steps steps_of(global const struct matmul_problem *p) {
    struct steps s;
    s.src_scale = (parameter_index)p->src_scale.column;
    s.src_zp = (parameter_index)p->src_zp.column;
    s.reductions = (parameter_index)p->reductions.column;
    s.wei_scale = (parameter_index)p->wei_scale.row;
    s.wei_zp = (parameter_index)p->wei_zp.row;
    return s;
}

// Elements of K in a block from k0 on, of a segment or range that ends at `end`.
#define BLOCK_LENGTH(k0, end) ((int)min((k_index)BLOCK_K, (end) - (k0)))

// A block of K.
struct k_block {
    k_index k0, segment; // the first element of K, and the number of the segment
    int length;          // elements of K
    bool first, last;    // whether this is the first or last block of its segment
    bool opens;          // whether this is the first block of the range or slice of K
    // Offsets of the block's group of K from where a row begins.
    parameter_index src_scale, src_zp;
    struct steps steps;
};

// The number of the block's group of K. group: elements of K in a group.
static inline parameter_index along_k(global const struct matmul_problem *p, const struct k_block *block,
                                      long group) {
    return (parameter_index)(HAS_EQUAL_GROUPS(p, group)
                                 ? block->segment
                                 : (parameter_index)block->k0 / (parameter_index)group);
}

// The parameters of a group of rows in the current segment. R: the sum of a row of src.
struct row_parameters {
    row_i correction[ROWS / VEC_ROWS];       // R - length * src_zp; multiplied by wei_zp
    row_f float_correction[ROWS / VEC_ROWS]; // the same as f32, with ZP_TERM_F32
    row_i src_zp[ROWS / VEC_ROWS];
    row_f src_scale[ROWS / VEC_ROWS];
};

// Zero points of the weights as f32. With FLAG_FLOAT_ZP they are kept as its bits.
static inline column_f zero_points_as_f32(column_i zp) {
    return HAS(FLAG_FLOAT_ZP) ? as_column_f(zp) : to_column_f(zp);
}

// An offset of the weights has the effect of a zero point that is -offset / scale. A scale near 0 becomes one
// that does not change such weights.
static inline column_f divisor_of_offset(column_f offset, column_f scale) {
    const column_f least = fabs(offset) * (column_f)0x1p-32f;
    return fabs(scale) >= least ? scale : least;
}
static inline column_f zero_point_of_offset(column_f offset, column_f divisor) {
    return divisor == (column_f)0.f ? (column_f)0.f : -offset / divisor;
}

// Loads the correction of one row. row: the element offset where the row begins in the tensor.
static inline int load_correction(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct k_block *block, parameter_index row, int src_zp) {
    const parameter_index at = row + (parameter_index)block->segment * block->steps.reductions;
    const int sum = load_int((bytes)args->reductions, DT_S32, at);
    if (!HAS(FLAG_SRC_ZP))
        return sum;
    int length = (int)p->segment;
    if (MAY_CUT_SEGMENTS)
        length = (int)min(p->segment, p->k - (long)block->segment * p->segment);
    return sum - length * src_zp;
}

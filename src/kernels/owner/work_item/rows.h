// SPDX-License-Identifier: Apache-2.0
// The rows of a work-item's tile: offsets of each row in src, scales, zero points and sums of src.
#pragma once

#include "owner/work_item/vectors.h"

#include "k_block.h"

struct tile_rows {
    // Element offset of each row. Rows past the end of the matrix repeat the last one.
    long src[TILE_M], src_scale[TILE_M], src_zp[TILE_M], reductions[TILE_M];
};

// first: number of the tile's first row in the whole batch; in_matrix: its number in the matrix.
static inline void find_rows(bytes src, global const struct matmul_problem *p, long first, long in_matrix,
                             int count, __private struct tile_rows *rows) {
    const int padded = (count + ROWS - 1) / ROWS * ROWS;
    for (int i = 0; i < padded; ++i) {
        const struct row_index r = row_at(p, first + min(i, count - 1));
        rows->src[i] = row_offset(p, &p->src, &r);
        if (HAS(FLAG_SRC_SCALE))
            rows->src_scale[i] = row_offset(p, &p->src_scale, &r);
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[i] = row_offset(p, &p->src_zp, &r);
        if (HAS(FLAG_REDUCTIONS))
            rows->reductions[i] = row_offset(p, &p->reductions, &r);
    }
}

// Does nothing: load_row_parameters loads what a group of rows needs.
static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct k_block *block, __private struct tile_rows *rows) {}

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *rows,
                    const struct k_block *block, __private struct row_parameters *to) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (HAS(FLAG_SRC_ZP))
            to->src_zp[i] = load_src_zp(p, args, block, rows->src_zp[i0 + i]);
        if (HAS(FLAG_REDUCTIONS))
            to->correction[i] = load_correction(p, args, block, rows->reductions[i0 + i],
                                                HAS(FLAG_SRC_ZP) ? to->src_zp[i] : 0);
        if (HAS(FLAG_SRC_SCALE_K))
            to->src_scale[i] = load_src_scale(args, block, rows->src_scale[i0 + i]);
    }
}

// Zero points of the weights times R, the sum of a row of src.
static inline vec_i zero_point_term(column_i zp, vec_i correction) {
    return (vec_i)zp * correction;
}

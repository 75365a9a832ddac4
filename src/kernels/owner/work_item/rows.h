// SPDX-License-Identifier: Apache-2.0
// The rows of a work-item's tile: offsets of each row in src, scales, zero points and sums of src.
#pragma once

#include "owner/work_item/vectors.h"

#include "k_block.h"

struct tile_rows {
    // Element offset of each row. Rows past the end of the matrix repeat the last one.
    long src[TILE_M], src_scale[TILE_M], src_zp[TILE_M], reductions[TILE_M];
    int count, padded; // rows in the matrix; the same rounded up to whole groups of rows
    // Values for the current segment.
    float scale[TILE_M];
    int zp[TILE_M];
};

// first: number of the tile's first row in the whole batch; in_matrix: its number in the matrix.
static inline void find_rows(bytes src, global const struct matmul_problem *p, long first, long in_matrix,
                             int count, __private struct tile_rows *rows) {
    rows->count = count;
    rows->padded = (count + ROWS - 1) / ROWS * ROWS;
    for (int i = 0; i < rows->padded; ++i) {
        const struct row_index r = row_at(p, first + min(i, count - 1));
        rows->src[i] = row_offset(p, &p->src, &r);
        if (HAS(FLAG_SRC_SCALE_K))
            rows->src_scale[i] = row_offset(p, &p->src_scale, &r);
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[i] = row_offset(p, &p->src_zp, &r);
        if (HAS(FLAG_REDUCTIONS))
            rows->reductions[i] = row_offset(p, &p->reductions, &r);
    }
}

// Load one group of K of all rows. group: its element offset from where a row begins.
static inline void load_row_scales(ulong address, int data_type, float host, long group,
                                   __private struct tile_rows *rows) {
    int i = 0;
#pragma unroll 1
    for (; i < rows->count; ++i)
        rows->scale[i] = load_scale(address, data_type, host, rows->src_scale[i] + group);
#pragma unroll 1
    for (; i < rows->padded; ++i)
        rows->scale[i] = rows->scale[i - 1];
}
static inline void load_row_zero_points(ulong address, int data_type, int host, long group,
                                        __private struct tile_rows *rows) {
    int i = 0;
#pragma unroll 1
    for (; i < rows->count; ++i)
        rows->zp[i] = load_zero_point(address, data_type, host, rows->src_zp[i] + group);
#pragma unroll 1
    for (; i < rows->padded; ++i)
        rows->zp[i] = rows->zp[i - 1];
}

// Loads the scales and zero points of all rows where a segment begins, but scales of a constant type:
// a few rows of dst load these faster where they multiply.
static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct k_block *block, __private struct tile_rows *rows) {
    if (!block->first && !block->opens)
        return;
    if (HAS(FLAG_SRC_ZP))
        load_row_zero_points(args->src_zp, SRC_ZP_DT(p), args->host_src_zp, block->src_zp, rows);
    if (HAS(FLAG_SRC_SCALE_K) && spec_src_scale_dt() == TYPE_IN_BLOCK)
        load_row_scales(args->src_scale, SRC_SCALE_DT(p), args->host_src_scale, block->src_scale, rows);
}

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *rows,
                    const struct k_block *block, __private struct row_parameters *to) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (HAS(FLAG_SRC_ZP))
            to->src_zp[i] = rows->zp[i0 + i];
        if (HAS(FLAG_REDUCTIONS))
            to->correction[i] = load_correction(p, args, block, rows->reductions[i0 + i],
                                                HAS(FLAG_SRC_ZP) ? to->src_zp[i] : 0);
        if (spec_zp_term() == ZP_TERM_F32)
            to->float_correction[i] = (float)to->correction[i];
        if (HAS(FLAG_SRC_SCALE_K))
            to->src_scale[i] = spec_src_scale_dt() == TYPE_IN_BLOCK
                                   ? rows->scale[i0 + i]
                                   : load_scale(args->src_scale, spec_src_scale_dt(), args->host_src_scale,
                                                rows->src_scale[i0 + i] + block->src_scale);
    }
}

// Zero points of the weights times R, the sum of a row of src.
static inline vec_i zero_point_term(column_i zp, vec_i correction) {
    return (vec_i)zp * correction;
}

// SPDX-License-Identifier: Apache-2.0
// The rows of a work-item's tile: offsets of each row in src, scales, zero points and sums of src.
#pragma once

#include "owner/work_item/vectors.h"

#include "problem/k_block.h"

// Vectors that hold a value for each row of the tile.
#define ROW_VECTORS ((TILE_M + LANES - 1) / LANES)

// Whether corrections of all rows are loaded where a segment begins.
#define HAS_ROW_CORRECTIONS (spec_zp_term() == ZP_TERM_F32 || spec_zp_term() == ZP_TERM_LAST)

#define HAS_ROW_FACTORS (HAS(FLAG_SRC_SCALE_K) || HAS_ROW_CORRECTIONS)

struct tile_rows {
    // Element offset of each row. Rows past the end of the matrix repeat the last one.
    long src[TILE_M], src_scale[TILE_M], src_zp[TILE_M], reductions[TILE_M];
    int count, padded; // rows in the matrix; the same rounded up to whole groups of rows
    // Values for the current segment. They are converted a vector at a time.
    column_f scale[ROW_VECTORS];
    column_f correction[ROW_VECTORS]; // with ZP_TERM_F32; with ZP_TERM_LAST s32, times -mean_zp
    // For ZP_TERM_LAST: the mean of the columns' zero points, and corrections scaled and summed along K.
    int mean_zp;
    column_f scaled_corrections[ROW_VECTORS];
    int zp[TILE_M];
};

#if LANES > 1
// The row that is i rows behind a tile's first one. Divisions take longer than all else that a row needs.
static inline struct row_index row_behind(global const struct matmul_problem *p,
                                          const struct row_index *first, long linear, int i) {
    struct row_index r = *first;
    r.m += i;
    return r.m < p->m ? r : row_at(p, linear);
}
#define ROW_OF_TILE(p, first, linear, i) row_behind(p, first, linear, i)
#else
#define ROW_OF_TILE(p, first, linear, i) row_at(p, linear)
#endif

// first: number of the tile's first row in the whole batch; in_matrix: its number in the matrix.
static inline void find_rows(bytes src, global const struct matmul_problem *p, long first, long in_matrix,
                             int count, __private struct tile_rows *rows) {
    rows->count = count;
    rows->padded = (count + ROWS - 1) / ROWS * ROWS;
    for (int v = 0; v < (spec_zp_term() == ZP_TERM_LAST ? ROW_VECTORS : 0); ++v)
        rows->scaled_corrections[v] = (column_f)0.f;
#if LANES > 1
    const struct row_index origin = row_at(p, first);
#endif
    for (int i = 0; i < rows->padded; ++i) {
        const struct row_index r = ROW_OF_TILE(p, &origin, first + min(i, count - 1), min(i, count - 1));
        rows->src[i] = row_offset(p, &p->src, &r);
        if (HAS(FLAG_SRC_SCALE_K))
            rows->src_scale[i] = row_offset(p, &p->src_scale, &r);
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[i] = row_offset(p, &p->src_zp, &r);
        if (HAS(FLAG_REDUCTIONS))
            rows->reductions[i] = row_offset(p, &p->reductions, &r);
    }
}

// Loads scales and corrections of all rows for one group of K. What needs a conversion is gathered
// first and then converted a vector at a time. One loop does both: with vectors in it, CPU compilers
// do not spend time on turning it into another. Rows past the end need no factors, for nobody reads their
// sums. In tiles of one column they have them: a constant number of rows takes fewer registers of a GPU.
#define FACTOR_ROWS(rows) (LANES > 1 ? (rows)->count : (rows)->padded)
static inline void load_row_factors(global const struct matmul_problem *p,
                                    const struct matmul_arguments *args, const struct k_block *block,
                                    __private struct tile_rows *rows) {
    const int type = SRC_SCALE_DT(p);
    const bool has_halves = HAS(FLAG_SRC_SCALE_K) && (type == DT_F16 || type == DT_BF16);
    const bool has_bytes = HAS(FLAG_SRC_SCALE_K) && (type == DT_E8M0 || type == DT_F8_E4M3);
    column_us codes;
#pragma unroll 1
    for (int i = 0; i < FACTOR_ROWS(rows); ++i) {
        const int v = i / LANES, lane = i % LANES;
        if (HAS_ROW_CORRECTIONS)
            ((__private int *)rows->correction)[i] =
                load_correction(p, args, block, rows->reductions[i], HAS(FLAG_SRC_ZP) ? rows->zp[i] : 0);
        const long scale = rows->src_scale[i] + block->src_scale;
        if (has_halves)
            ((__private ushort *)&codes)[lane] = ((global const ushort *)args->src_scale)[scale];
        else if (has_bytes)
            ((__private ushort *)&codes)[lane] = ((bytes)args->src_scale)[scale];
        else if (HAS(FLAG_SRC_SCALE_K))
            ((__private float *)rows->scale)[i] =
                load_scale(args->src_scale, type, args->host_src_scale, scale);
        if (lane != LANES - 1 && i != FACTOR_ROWS(rows) - 1)
            continue;
        if (spec_zp_term() == ZP_TERM_F32)
            rows->correction[v] = to_column_f(as_column_i(rows->correction[v]));
        if (has_halves)
            rows->scale[v] =
                type == DT_F16 ? halves_to_column_f(&codes) : as_column_f(to_column_i(codes) << 16);
        if (has_bytes)
            rows->scale[v] = type == DT_E8M0 ? VEC_OF_CODES(e8m0, to_column_i(codes))
                                             : VEC_OF_CODES(f8_e4m3, to_column_i(codes));
        if (spec_zp_term() == ZP_TERM_LAST) {
            const column_i sums = as_column_i(rows->correction[v]);
            rows->correction[v] = as_column_f(sums * -rows->mean_zp);
            rows->scaled_corrections[v] = fma(to_column_f(sums), rows->scale[v], rows->scaled_corrections[v]);
        }
    }
}

// Loads one group of K of all rows. group: its element offset from where a row begins.
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

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *rows,
                    const struct k_block *block, __private struct row_parameters *to) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (HAS(FLAG_SRC_ZP))
            to->src_zp[i] = rows->zp[i0 + i];
        if (spec_zp_term() == ZP_TERM_LAST)
            to->correction[i] = ((__private const int *)rows->correction)[i0 + i];
        else if (HAS(FLAG_REDUCTIONS) && spec_zp_term() != ZP_TERM_F32)
            to->correction[i] = load_correction(p, args, block, rows->reductions[i0 + i],
                                                HAS(FLAG_SRC_ZP) ? to->src_zp[i] : 0);
    }
}

// Zero points of the weights times R, the sum of a row of src.
static inline vec_i zero_point_term(column_i zp, vec_i correction) {
    // The mean's term, negated.
    if (spec_zp_term() == ZP_TERM_LAST)
        return -correction;
    return (vec_i)zp * correction;
}
// Loads what sums are scaled with, after the products: a value that waits in a register meanwhile is
// spread over a vector by an instruction of its own, one in memory by its load.
static inline __attribute__((always_inline)) void
load_scaling_parameters(const int count, int i0, __private const struct tile_rows *rows,
                        __private struct row_parameters *to) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (spec_zp_term() == ZP_TERM_F32)
            to->float_correction[i] = ((__private const float *)rows->correction)[i0 + i];
        if (HAS(FLAG_SRC_SCALE_K))
            to->src_scale[i] = ((__private const float *)rows->scale)[i0 + i];
    }
}

// The zero points of a vector of columns, which are kept as f32.
static inline column_f float_zero_points(column_i zp) {
    return as_column_f(zp);
}

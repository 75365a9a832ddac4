// SPDX-License-Identifier: Apache-2.0
// The rows of a sub-group's tile: offsets, scales and zero points. They are spread over the lanes:
// row i of the tile is in lane i % LANES of vector i / LANES.
#pragma once

#include "owner/sub_group/surface.h"
#include "owner/sub_group/vectors.h"
#include "owner/sub_group/walk.h"

#include "problem/k_block.h"

// Row `number` of dst, which is row i after origin.
static inline struct row_index next_row(global const struct matmul_problem *p, const struct row_index *origin,
                                        long number, int i) {
    if (!HAS(FLAG_ONE_MATRIX))
        return row_at(p, number);
    struct row_index r = *origin;
    r.m += i;
    return r;
}

#define ROW_VECTORS ((TILE_M + LANES - 1) / LANES)

// The arrays: element v in lane i belongs to row v * LANES + i of the tile.
struct tile_rows {
    long src;  // element offset of the matrix in src
    int first; // number of the tile's first row in the matrix
    // A policy uses `at` or `matrix`; the compiler drops the other one.
    uint at[ROW_VECTORS];  // for 1-D block loads: byte offset of each row in src
    struct surface matrix; // for 2-D block loads
    // Element offsets of each row.
    parameter_index src_scale[ROW_VECTORS], src_zp[ROW_VECTORS], reductions[ROW_VECTORS];
    // If can_walk(): addresses of those of the current block.
    ulong scale_at[ROW_VECTORS], reduction_at[ROW_VECTORS];
    // Values for the current block.
    float scale[ROW_VECTORS], float_correction[ROW_VECTORS];
    int zp[ROW_VECTORS], correction[ROW_VECTORS];
};

static inline void find_rows(bytes src, global const struct matmul_problem *p, long first, long in_matrix,
                             int count, __private struct tile_rows *rows) {
    const struct row_index origin = row_at(p, first), top = row_at(p, first - in_matrix);
    rows->src = row_offset(p, &p->src, &top);
    const int size = src_bytes();
    const long width = HAS(FLAG_ARRANGED) ? p->src.row : p->k;
    rows->matrix = make_surface(src + rows->src * size, width * size, p->rows, p->src.row * size);
    rows->first = (int)in_matrix;
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v) {
        const int i = v * LANES + (int)get_sub_group_local_id();
        const struct row_index r = next_row(p, &origin, first + min(i, count - 1), min(i, count - 1));
        rows->at[v] = (uint)((rows->src + (in_matrix + min(i, count - 1)) * p->src.row) * size);
        if (HAS(FLAG_SRC_SCALE))
            rows->src_scale[v] = (uint)row_offset(p, &p->src_scale, &r);
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[v] = (uint)row_offset(p, &p->src_zp, &r);
        if (HAS(FLAG_REDUCTIONS))
            rows->reductions[v] = (uint)row_offset(p, &p->reductions, &r);
    }
}

// Loads for one row. row: the element offset where the row begins in the tensor.
static inline int load_src_zp(global const struct matmul_problem *p, const struct matmul_arguments *args,
                              const struct k_block *block, parameter_index row) {
    return load_zero_point(args->src_zp, spec_src_zp_dt(), args->host_src_zp, row + block->src_zp);
}
static inline float load_src_scale(const struct matmul_arguments *args, const struct k_block *block,
                                   parameter_index row) {
    return load_scale(args->src_scale, spec_src_scale_dt(), args->host_src_scale, row + block->src_scale);
}

// Prepares the loads in the loop over blocks, which begins at `block`.
static inline void walk_rows(const struct matmul_arguments *args, const struct k_block *block,
                             __private struct tile_rows *rows) {
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v) {
        rows->scale_at[v] =
            address_before(args->src_scale, spec_src_scale_dt(),
                           rows->src_scale[v] + (parameter_index)block->segment * block->steps.src_scale,
                           block->steps.src_scale);
        rows->reduction_at[v] =
            address_before(args->reductions, DT_S32,
                           rows->reductions[v] + (parameter_index)block->segment * block->steps.reductions,
                           block->steps.reductions);
    }
}

static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct k_block *block, __private struct tile_rows *rows) {
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v) {
        if (HAS(FLAG_SRC_ZP))
            rows->zp[v] = load_src_zp(p, args, block, rows->src_zp[v]);
        if (HAS(FLAG_REDUCTIONS)) {
            const int zp = HAS(FLAG_SRC_ZP) ? rows->zp[v] : 0;
            const int correction = can_walk(DT_S32) && !HAS(FLAG_SRC_ZP)
                                       ? walk_integer(&rows->reduction_at[v], DT_S32, block->steps.reductions)
                                       : load_correction(p, args, block, rows->reductions[v], zp);
            rows->correction[v] = block->first ? correction : 0;
        }
        if (spec_zp_term() == ZP_TERM_F32)
            rows->float_correction[v] = (float)rows->correction[v];
        if (HAS(FLAG_SRC_SCALE_K))
            rows->scale[v] = can_walk(spec_src_scale_dt())
                                 ? walk_scale(&rows->scale_at[v], spec_src_scale_dt(), block->steps.src_scale)
                                 : load_src_scale(args, block, rows->src_scale[v]);
    }
}

// Clears the corrections, which are subtracted once for a segment, before its second panel.
static inline void leave_first_panel(__private struct tile_rows *rows) {
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v) {
        rows->correction[v] = 0;
        rows->float_correction[v] = 0.f;
    }
}

// The values of x in lanes i .. i + 7, as a vector that all lanes have.
#define EIGHT_LANES(type, x, i)                                                                              \
    ((type)(sub_group_broadcast(x, i), sub_group_broadcast(x, (i) + 1), sub_group_broadcast(x, (i) + 2),     \
            sub_group_broadcast(x, (i) + 3), sub_group_broadcast(x, (i) + 4),                                \
            sub_group_broadcast(x, (i) + 5), sub_group_broadcast(x, (i) + 6),                                \
            sub_group_broadcast(x, (i) + 7)))

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *rows,
                    const struct k_block *block, __private struct row_parameters *to) {
    const int v = i0 / LANES, lane = i0 % LANES;
    if (HAS(FLAG_SRC_ZP))
        to->src_zp[0] = EIGHT_LANES(int8, rows->zp[v], lane);
    if (spec_zp_term() == ZP_TERM_F32)
        to->float_correction[0] = EIGHT_LANES(float8, rows->float_correction[v], lane);
    else if (HAS(FLAG_REDUCTIONS))
        to->correction[0] = EIGHT_LANES(int8, rows->correction[v], lane);
    if (HAS(FLAG_SRC_SCALE_K))
        to->src_scale[0] = EIGHT_LANES(float8, rows->scale[v], lane);
}

// Zero points of the weights times R. With factors of 16 bits it is one instruction.
static inline vec_i zero_point_term(column_i zp, vec_i correction) {
    if (spec_zp_term() == ZP_TERM_S16)
        return (vec_i)(int)(short)zp * convert_int8(convert_short8(correction));
    return (vec_i)zp * correction;
}

// All parameters of rows are loaded before the products.
#define load_scaling_parameters(count, i0, rows, to)

// The zero points of a vector of columns for ZP_TERM_F32.
#define float_zero_points(zp) zero_points_as_f32(zp)

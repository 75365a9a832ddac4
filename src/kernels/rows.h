// SPDX-License-Identifier: Apache-2.0
// The rows of a tile: where they begin, and the scales, zero points and reductions of src that belong to
// them.
#pragma once

#include "lanes.h"
#include "parameters.h"
#include "spec.h"
#include "tensor.h"
#if WORK_ITEMS > 1
#include "policy/xe_2d.h"
#endif

// From one group of K to the next.
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

// A block of K and its place in its segment.
struct block {
    k_index k0, segment; // first element, number of the segment
    int length;
    bool first, last;                  // of the segment
    bool opens;                        // the range of K
    parameter_index src_scale, src_zp; // what to add to a row's offsets
    struct steps steps;
};

// What a group of rows needs of the current segment.
struct row_parameters {
    row_i correction[ROWS / VEC_ROWS];       // multiplies the zero points of the weights: R - length * zs
    row_f float_correction[ROWS / VEC_ROWS]; // the same where FLAG_FLOAT_ZP
    row_i src_zp[ROWS / VEC_ROWS];
    row_f src_scale[ROWS / VEC_ROWS];
};

// A row at these offsets: R less what the zero points of src take from it, its zero point, its scale.
static inline int load_src_zp(global const struct matmul_problem *p, const struct matmul_arguments *args,
                              const struct block *block, parameter_index row) {
    return load_zero_point(args->src_zp, spec_src_zp_dt(), args->host_src_zp, row + block->src_zp);
}
static inline int load_correction(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct block *block, parameter_index row, int src_zp) {
    const parameter_index at = row + (parameter_index)block->segment * block->steps.reductions;
    const int sum = load_int((bytes)args->reductions, DT_S32, at);
    if (!HAS(FLAG_SRC_ZP))
        return sum;
    int length = (int)p->segment;
    if (HAS(FLAG_WIDE_SUMS))
        length = (int)min(p->segment, p->k - (long)block->segment * p->segment);
    return sum - length * src_zp;
}
static inline float load_src_scale(const struct matmul_arguments *args, const struct block *block,
                                   parameter_index row) {
    return load_scale(args->src_scale, spec_src_scale_dt(), args->host_src_scale, row + block->src_scale);
}

#if WORK_ITEMS == 1

struct tile_rows {
    // Where each row begins, in elements; rows past the end repeat the last one.
    long src[TILE_M], src_scale[TILE_M], src_zp[TILE_M], reductions[TILE_M];
};

// first: number of the tile's first row in the whole of dst; in_matrix: within its matrix.
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

// Those of a block are loaded group by group.
static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct block *block, __private struct tile_rows *rows) {}

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *t,
                    const struct block *block, __private struct row_parameters *rows) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[i] = load_src_zp(p, args, block, t->src_zp[i0 + i]);
        if (HAS(FLAG_REDUCTIONS))
            rows->correction[i] = load_correction(p, args, block, t->reductions[i0 + i],
                                                  HAS(FLAG_SRC_ZP) ? rows->src_zp[i] : 0);
        if (HAS(FLAG_SRC_SCALE_K))
            rows->src_scale[i] = load_src_scale(args, block, t->src_scale[i0 + i]);
    }
}

#else

// Row `number` of dst, the i-th after origin.
static inline struct row_index next_row(global const struct matmul_problem *p, const struct row_index *origin,
                                        long number, int i) {
    if (!HAS(FLAG_ONE_MATRIX))
        return row_at(p, number);
    struct row_index r = *origin;
    r.m += i;
    return r;
}

#define ROW_VECTORS ((TILE_M + LANES - 1) / LANES)

// Row v * LANES + i of the tile is in lane i of element v.
struct tile_rows {
    long src;  // where the first row of the matrix begins
    int first; // number of the tile's first row in it
    // Which of these two is in registers is up to what reads src.
    uint at[ROW_VECTORS];  // for 1-D block loads: where each row begins, in bytes
    struct surface matrix; // for 2-D block loads
    parameter_index src_scale[ROW_VECTORS], src_zp[ROW_VECTORS], reductions[ROW_VECTORS]; // likewise
    float scale[ROW_VECTORS], float_correction[ROW_VECTORS]; // of the current block
    int zp[ROW_VECTORS], correction[ROW_VECTORS];
};

static inline void find_rows(bytes src, global const struct matmul_problem *p, long first, long in_matrix,
                             int count, __private struct tile_rows *rows) {
    const struct row_index origin = row_at(p, first), top = row_at(p, first - in_matrix);
    rows->src = row_offset(p, &p->src, &top);
    const int size = src_bytes();
    rows->matrix = make_surface(src + rows->src * size, p->k * size, p->rows, p->src.row * size);
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

static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct block *block, __private struct tile_rows *rows) {
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v) {
        if (HAS(FLAG_SRC_ZP))
            rows->zp[v] = load_src_zp(p, args, block, rows->src_zp[v]);
        if (HAS(FLAG_REDUCTIONS)) {
            const int zp = HAS(FLAG_SRC_ZP) ? rows->zp[v] : 0;
            const int correction = load_correction(p, args, block, rows->reductions[v], zp);
            rows->correction[v] = block->first ? correction : 0;
        }
        if (HAS(FLAG_FLOAT_ZP))
            rows->float_correction[v] = (float)rows->correction[v];
        if (HAS(FLAG_SRC_SCALE_K))
            rows->scale[v] = load_src_scale(args, block, rows->src_scale[v]);
    }
}

// What is taken off once for a segment.
static inline void leave_first_panel(__private struct tile_rows *rows) {
#pragma unroll
    for (int v = 0; v < ROW_VECTORS; ++v)
        rows->correction[v] = 0;
}

// The values of lanes i.. of x, the same for all work-items.
#define EIGHT_LANES(type, x, i)                                                                              \
    ((type)(sub_group_broadcast(x, i), sub_group_broadcast(x, (i) + 1), sub_group_broadcast(x, (i) + 2),     \
            sub_group_broadcast(x, (i) + 3), sub_group_broadcast(x, (i) + 4),                                \
            sub_group_broadcast(x, (i) + 5), sub_group_broadcast(x, (i) + 6),                                \
            sub_group_broadcast(x, (i) + 7)))

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile_rows *t,
                    const struct block *block, __private struct row_parameters *rows) {
    const int v = i0 / LANES, lane = i0 % LANES;
    if (HAS(FLAG_SRC_ZP))
        rows->src_zp[0] = EIGHT_LANES(int8, t->zp[v], lane);
    if (HAS(FLAG_FLOAT_ZP))
        rows->float_correction[0] = EIGHT_LANES(float8, t->float_correction[v], lane);
    else if (HAS(FLAG_REDUCTIONS))
        rows->correction[0] = EIGHT_LANES(int8, t->correction[v], lane);
    if (HAS(FLAG_SRC_SCALE_K))
        rows->src_scale[0] = EIGHT_LANES(float8, t->scale[v], lane);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// The loops of the owner sub_group: over the panels of a block, and over groups of eight rows. Sums
// stay in registers.
#pragma once

#include "owner/sub_group/slices.h"
#include "owner/tile.h"

#if TILE_M > 64
#error "TILE_M: multiply_tile has eight groups of eight rows"
#endif

// The next loads of the columns' scales and zero points are those of a segment.
static inline void walk_tile_columns(const struct matmul_arguments *args,
                                     global const struct matmul_problem *p, k_index segment,
                                     __private struct tile *t) {
    if (HAS(FLAG_WEI_ZP_K))
        walk_columns(args->wei_zp, spec_wei_zp_dt(), &p->wei_zp, segment, &t->wei_zp_at);
    if (HAS(FLAG_WEI_SCALE_K))
        walk_columns(args->wei_scale, spec_wei_scale_dt(), &p->wei_scale, segment, &t->wei_scale_at);
}

static inline void clear_sums(global const struct matmul_problem *p, __private struct tile *t) {
#pragma unroll
    for (int i = 0; i < TILE_VECTORS; ++i) {
        t->sum[i] = (vec_i)0;
        t->result[i] = (vec_f)0.f;
    }
#pragma unroll
    for (int v = 0; v < NV; ++v)
        t->nan[v] = 0;
}

#ifdef LOSES_NAN
static inline void keep_nan(struct b_panel b, __private struct tile *t) {
    if (LOSES_NAN)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            t->nan[v] |= NAN_OF(b.steps, v);
}
// The sums x of column vector v, or NaN if its column of weights has one.
static inline vec_f with_nan(vec_f x, int v, __private const struct tile *t) {
    const int nan = LOSES_NAN && (t->nan[v] & NAN_BITS) != 0 ? 0x7fc00000 : 0;
    return as_vec_f(as_vec_i(x) | (vec_i)nan);
}
#else
#define keep_nan(b, t)
#define with_nan(x, v, t) (x)
#endif

// Copies the sums of the tile from registers to an array, row by row, so that they can be indexed.
static inline void store_values(__private const struct tile *t, __private column_f *values) {
#pragma unroll
    for (int i = 0; i < TILE_VECTORS; ++i) {
        const vec_f x = with_nan(SEGMENTS_ARE_SCALED ? t->result[i] : as_vec_f(t->sum[i]), i % NV, t);
#pragma unroll
        for (int r = 0; r < VEC_ROWS; ++r)
            values[(i / NV * VEC_ROWS + r) * NV + i % NV] = ((__private const float *)&x)[r];
    }
}

static inline __private column_f *values_of(__private struct tile *t, __private column_f *apart) {
    if (spec_stage() != STAGE_ADD_RANGES)
        store_values(t, apart);
    return apart;
}

// The loop over all groups of rows. It is unrolled by hand, because not every compiler unrolls it
// completely.
static inline void multiply_tile(bytes src, global const struct matmul_problem *p,
                                 const struct matmul_arguments *args, __private struct tile *t,
                                 const struct k_block *block, struct b_panel b) {
    struct row_parameters parameters;
#define GROUP(i)                                                                                             \
    if ((i) < TILE_M) {                                                                                      \
        load_row_parameters(ROWS, i, p, args, &t->rows, block, &parameters);                                 \
        multiply_rows(ROWS, i, src, p, t, &parameters, block, b);                                            \
    }
    GROUP(0)
    GROUP(8)
    GROUP(16)
    GROUP(24)
    GROUP(32)
    GROUP(40)
    GROUP(48)
    GROUP(56)
}

// The products of panel i of a block. The panels of a block share scales and zero points.
static inline __attribute__((always_inline)) void
multiply_panel(const int i, struct k_block block, bytes src, global const struct matmul_problem *p,
               const struct matmul_arguments *args, const struct wei_source *source,
               __private panel_vec *panel, __private struct tile *t) {
    block.k0 += i * spec_panel_k();
    block.last = block.last && i + 1 == spec_panels();
    if (i > 0) {
        block.first = block.opens = false;
        leave_first_panel(&t->rows);
    }
    const struct b_panel b = load_b(source, p, block.k0, block.length, t->wei_zp, panel);
    keep_nan(b, t);
    if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
        add_wei_sums(b, block.length, t->wei_sum);
    multiply_tile(src, p, args, t, &block, b);
}

// In a long basic block newer compilers build each step of widened weights in other registers and
// copy it. So the second panel of few rows is behind a branch. Other tiles have no registers for that.
#if TILE_M == VEC_ROWS && TILE_K == 64
#define HAS_SECOND_PANEL(block) (spec_panels() == 2 && (block)->length > spec_panel_k())
#else
#define HAS_SECOND_PANEL(block) (spec_panels() == 2)
#endif

// The products of a block.
static inline __attribute__((always_inline)) void
multiply_block(const struct k_block *block, bytes src, global const struct matmul_problem *p,
               const struct matmul_arguments *args, const struct wei_source *source,
               __private panel_vec *panel, __private struct tile *t) {
    multiply_panel(0, *block, src, p, args, source, panel, t);
    if (HAS_SECOND_PANEL(block))
        multiply_panel(1, *block, src, p, args, source, panel, t);
}

// Zero points stay s32, and no term is left to the end.
#define keep_float_zero_points(t, block)
#define subtract_last_terms(t)

// SPDX-License-Identifier: Apache-2.0
// The loop of the owner work_item for policies that multiply units: a group of rows and half of the columns
// (MULTIPLIES_UNITS). Where segments are short, several of them are kept. Then a group of rows, whose results
// stay in the L1 cache, is multiplied with all of them: the products of a unit are made while the sums of the
// unit before it are scaled, for tiles multiply and vectors scale at the same time.
#pragma once

#include "owner/work_item/kept_rows.h"

#define UNIT_VECTORS (NV / 2) // of columns
#define SCALED_AT_ONCE 4      // rows

#include "owner/work_item/groups.h"
#include "owner/work_item/unit_parts.h"

// Steps of so many elements of K. The last one may be filled in part.
static inline int steps_of_k(int length) {
    return (length + STEP - 1) / STEP;
}

// ---- Short segments ----

// A unit whose sums are to be scaled.
struct scaled_unit {
    __private const panel_vec *sums; // [ROWS][UNIT_VECTORS]; 0: there is none
    int segment, i0, v0;             // i0: the group's first row in the tile; v0: the unit's first vector
};

// Adds the scaled sums of rows `begin` to `end` of a unit to the results.
static inline __attribute__((always_inline)) void
scale_part(__private struct tile *t, const struct scaled_unit *u, int begin, int end) {
    const int n = u->segment;
    column_i zp[UNIT_VECTORS], wei_sum[UNIT_VECTORS];
    column_f scale[UNIT_VECTORS];
#pragma unroll
    for (int v = 0; v < UNIT_VECTORS; ++v) {
        zp[v] = kept_zero_point(t, n, u->v0 + v);
        scale[v] = kept_scale(t, n, u->v0 + v);
        wei_sum[v] = t->kept.segments[n].wei_sum[u->v0 + v];
    }
#pragma unroll 1
    for (int r = begin; r < end; r += SCALED_AT_ONCE) {
#pragma unroll
        for (int i = r; i < r + SCALED_AT_ONCE; ++i) {
            const int row = u->i0 + i, correction = CORRECTION_OF_ROW(&t->kept, n, row);
            const int src_zp = SRC_ZP_OF_ROW(&t->kept, n, row);
#pragma unroll
            for (int v = 0; v < UNIT_VECTORS; ++v) {
                vec_i sum = u->sums[i * UNIT_VECTORS + v] - subtrahend(zp[v], correction);
                if (HAS(FLAG_SRC_ZP))
                    sum -= wei_sum[v] * (vec_i)src_zp;
                __private vec_f *result = t->result + row * NV + u->v0 + v;
                *result = add_scaled(*result, HAS(FLAG_INTEGER) ? to_vec_f(sum) : as_vec_f(sum), zp[v],
                                     scale[v], correction, SCALE_OF_ROW(&t->kept, n, row));
            }
        }
    }
}

// Multiplies the group of rows from row i0 of the tile on with the kept segments.
static inline void multiply_kept(bytes src, global const struct matmul_problem *p, int i0,
                                 __private panel_vec *panel, __private struct tile *t) {
    __private const long *first = t->rows.src + i0;
    const int count = min(t->count - i0, ROWS);
    const bool is_even = is_in_place(first, count);
    const k_index k0 = t->units.segments[0].k0;
    const struct row_block in_place = rows_in_place(src, p, first, count, k0);
    const struct row_block copied = rows_of_copy(panel + PANEL_SRC, is_even ? in_place.lower : 16);
    struct scaled_unit unit = {.sums = 0};
    __private panel_vec *sums = panel + PANEL_SUMS;
    int side = 0;
#pragma unroll 1
    for (int n = 0; n < t->kept.count; ++n) {
        __private const struct kept_operands *s = t->units.segments + n;
        const int steps = steps_of_k(s->length), filled = s->length / STEP, whole = is_even ? filled : 0;
        // Rows of the unit before that are scaled after each step.
        const int rows_of_step = (ROWS / SCALED_AT_ONCE + steps - 1) / steps * SCALED_AT_ONCE;
        if (whole < steps)
            copy_parts(src, p, first, s->k0, whole, s->length, panel + PANEL_SRC + s->step * ROWS);
#pragma unroll 1
        for (int v0 = 0; v0 < NV; v0 += UNIT_VECTORS) {
            EACH_TILE_OF_SUMS(CLEAR_TILE, t->units.tiles, 0, 0, 0);
#pragma unroll 1
            for (int i = 0; i < steps; ++i) {
                const struct row_block r = i < whole ? in_place : copied;
                const ulong a =
                    r.src + (i < whole ? (s->k0 - k0) * (64 / STEP) + i * 64 : (s->step + i) * ROWS * 64);
                MULTIPLY_STEP(t->units.tiles, r, a, wei_step(s->wei, i, filled) + v0 * 64);
                if (unit.sums != 0)
                    scale_part(t, &unit, i * rows_of_step, min((i + 1) * rows_of_step, ROWS));
            }
            __private panel_vec *to = sums + side * ROWS * UNIT_VECTORS;
            side ^= 1;
            EACH_TILE_OF_SUMS(TILE_STORE, t->units.tiles, (ulong)to, UNIT_VECTORS * 64, copied.lower);
            if (MAY_MISS_INFINITY) {
                const struct unit_steps a = steps_in_place(&in_place, (s->k0 - k0) * (64 / STEP), whole);
                const struct unit_steps c = steps_of_copy(&copied, s->step + whole, steps - whole, whole);
                correct_sums(&a, &c, s->wei, filled, v0, to);
            }
            unit = (struct scaled_unit){to, n, i0, v0};
        }
    }
    scale_part(t, &unit, 0, ROWS);
}

// Keeps the block, which is a segment. Segments are multiplied as soon as all that were planned are kept.
static inline void keep_block(const struct k_block *block, bytes src, global const struct matmul_problem *p,
                              const struct matmul_arguments *args, const struct wei_source *source,
                              __private panel_vec *panel, __private struct tile *t) {
    const int steps = steps_of_k(block->length);
    if (block->opens)
        t->kept.count = 0;
    if (t->kept.count == 0) {
        t->units.steps = 0;
        plan_segments(p, args, block, KEEPS_GROUPS ? TILE_K / TILE_BYTES : STEPS / steps, t);
    }
    const struct b_panel b = load_b(source, p, block->k0, block->length, t->wei_zp,
                                    panel + t->units.steps * (TILE_BYTES / 4) * NV);
    if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
        add_wei_sums(b, block->length, t->wei_sum);
    t->units.segments[t->kept.count] = (struct kept_operands){block->k0, block->length, t->units.steps, b};
    t->units.steps += steps;
    if (!keep_columns(t))
        return;
    if (KEEPS_GROUPS) {
        const long end = block_begin(source, p, block->k0 + block->length);
        multiply_groups(src, source->wei + end * wei_bits() / 8, panel, t);
        t->kept.count = 0;
        return;
    }
#pragma unroll 1
    for (int i0 = 0; i0 < t->count; i0 += ROWS)
        multiply_kept(src, p, i0, panel, t);
    t->kept.count = 0;
}

// ---- Other segments: sums are made in tiles over all of a block ----

// The products of a block: they are added to the sums of struct tile.
static inline void add_products(const struct k_block *block, bytes src, global const struct matmul_problem *p,
                                struct b_panel b, __private panel_vec *panel, __private struct tile *t) {
    const bool begins = SEGMENTS_ARE_SCALED ? block->first : block->opens;
    const int filled = block->length / STEP;
#pragma unroll 1
    for (int i0 = 0; i0 < t->count; i0 += ROWS) {
        __private const long *first = t->rows.src + i0;
        const int count = min(t->count - i0, ROWS);
        const bool is_even = is_in_place(first, count);
        const int whole = is_even ? filled : 0;
        const struct row_block in_place = rows_in_place(src, p, first, count, block->k0);
        __private panel_vec *copy = panel + PANEL_SRC;
        // All steps are copied, or the last one, which K does not fill.
        const int copied = steps_of_k(block->length) - whole;
        for (int from = 0; from == 0 || from < copied; from += STEPS) {
            const int steps = min(copied - from, STEPS);
            if (steps > 0)
                copy_parts(src, p, first, block->k0 + (long)(whole + from) * STEP, 0,
                           min(STEPS * STEP, block->length - (whole + from) * STEP), copy);
            const struct row_block rows = rows_of_copy(copy, is_even ? in_place.lower : 16);
#pragma unroll 1
            for (int v0 = 0; v0 < NV; v0 += UNIT_VECTORS) {
                __private panel_vec *apart = panel + PANEL_SUMS;
                const ulong sums = MAY_MISS_INFINITY ? (ulong)apart : (ulong)(t->sum + i0 * NV + v0);
                const long lower = rows.lower, row = (MAY_MISS_INFINITY ? UNIT_VECTORS : NV) * 64;
                if (MAY_MISS_INFINITY || (begins && from == 0))
                    EACH_TILE_OF_SUMS(CLEAR_TILE, t->units.tiles, sums, row, lower);
                else
                    EACH_TILE_OF_SUMS(TILE_LOAD, t->units.tiles, sums, row, lower);
#pragma unroll 1
                for (int i = 0; from == 0 && i < whole; ++i)
                    MULTIPLY_STEP(t->units.tiles, in_place, in_place.src + i * 64,
                                  b.whole + i * WEI_STEP + v0 * 64);
#pragma unroll 1
                for (int i = 0; i < steps; ++i) {
                    MULTIPLY_STEP(t->units.tiles, rows, rows.src + i * ROWS * 64,
                                  wei_step(b, whole + from + i, filled) + v0 * 64);
                }
                EACH_TILE_OF_SUMS(TILE_STORE, t->units.tiles, sums, row, lower);
                if (MAY_MISS_INFINITY) {
                    const struct unit_steps a = steps_in_place(&in_place, 0, from == 0 ? whole : 0);
                    const struct unit_steps c = steps_of_copy(&rows, 0, steps, whole + from);
                    correct_sums(&a, &c, b, filled, v0, apart);
                    add_unit(apart, begins && from == 0, rows.lower + 16, t->sum + i0 * NV + v0);
                }
            }
        }
    }
}

// multiply_rows finds the products in the sums of struct tile, and takes them where the segment ends.
#undef SUM_BEGINS
#define SUM_BEGINS(block) false
#undef TAKES_CORRECTION
#define TAKES_CORRECTION(block) (t->units.has_first)
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *integers,
                                                           __private vec_f *floats) {}

static inline void multiply_block(const struct k_block *block, bytes src,
                                  global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct wei_source *source, __private panel_vec *panel,
                                  __private struct tile *t) {
    if (KEEPS_UNITS) {
        keep_block(block, src, p, args, source, panel, t);
        return;
    }
    const struct b_panel b = load_b(source, p, block->k0, block->length, t->wei_zp, panel);
    if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
        add_wei_sums(b, block->length, t->wei_sum);
    if (block->first || block->opens)
        t->units.has_first = block->first;
    add_products(block, src, p, b, panel, t);
    if (!block->last || !(SEGMENTS_ARE_SCALED || HAS(FLAG_REDUCTIONS) || HAS(FLAG_SRC_ZP)))
        return;
    struct row_parameters parameters;
#pragma unroll 1
    for (int i = 0; i < t->count; i += SCALED_AT_ONCE) {
        load_row_parameters(SCALED_AT_ONCE, i, p, args, &t->rows, block, &parameters);
        multiply_rows(SCALED_AT_ONCE, i, src, p, t, &parameters, block, b);
    }
}

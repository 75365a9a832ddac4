// SPDX-License-Identifier: Apache-2.0
// The sums of ranges of K. If K is split into ranges, one launch writes the sums of each range to
// the scratchpad (STAGE_PARTIAL). A second launch adds them up (STAGE_ADD_RANGES).
#pragma once

#include "owner/tile.h"

// Where the sums of the first range begin, for a row (counted in the whole batch, or in src with
// ROW_GROUPS) and column n0.
static inline global int *partial_sums(global const struct matmul_problem *p,
                                       const struct matmul_arguments *args, long row, long n0) {
    return (global int *)args->partials + row * p->partial_row + n0;
}

static inline void store_partial_row(__private const column_f *x, global int *to) {
    for (int v = 0; v < NV; ++v)
        store_column_s32(as_column_i(x[v]), to + v * LANES);
}

// Adds up the ranges in a fixed order, so that float results are always rounded alike. With
// FLAG_WIDE_SUMS the sum is 64-bit and is rounded to f32 once.
static inline void load_partial_row(global const struct matmul_problem *p, __private column_f *x,
                                    global const int *from) {
    for (int v = 0; v < NV; ++v) {
        global const int *at = from + v * LANES;
        if (HAS(FLAG_WIDE_SUMS)) {
            column_l wide = to_column_l(load_column_s32(at));
            for (long k = p->k_range; k < p->k; k += p->k_range) {
                at += p->partial_range;
                wide += to_column_l(load_column_s32(at));
            }
            x[v] = to_column_f(wide);
            continue;
        }
        column_f sum = as_column_f(load_column_s32(at));
        for (long k = p->k_range; k < p->k; k += p->k_range) {
            at += p->partial_range;
            sum = add_sums(sum, as_column_f(load_column_s32(at)));
        }
        x[v] = sum;
    }
}

// For all rows of the tile. values: [TILE_M][NV].
static inline void store_partials(global const struct matmul_problem *p, __private const struct tile *t,
                                  __private const column_f *values, global int *to) {
    for (int i = 0; i < t->count; ++i)
        store_partial_row(values + i * NV, to + i * p->partial_row);
}

static inline void load_partials(global const struct matmul_problem *p, __private const struct tile *t,
                                 __private column_f *values, global const int *from) {
    for (int i = 0; i < t->count; ++i)
        load_partial_row(p, values + i * NV, from + i * p->partial_row);
}

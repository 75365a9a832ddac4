// SPDX-License-Identifier: Apache-2.0
// Adds up the slices of a tile (FLAG_SLICES, place.h). The sub-groups that share a tile put their
// sums into local memory, eight rows at a time. Each of them then adds up and finishes some of the
// rows. Slices are added in a fixed order, so that float results are always rounded alike.
#pragma once

#include "owner/finish.h"
#include "owner/partials.h"
#include "owner/sub_group/place.h"

// Puts this lane's columns of eight rows of sums into local memory. values: [8][NV].
static inline void share_rows(__private const column_f *values, local column_f *to) {
    for (int r = 0; r < VEC_ROWS; ++r)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            to[r * TILE_N + v * LANES] = values[r * NV + v];
}

// x[NV]: the sum of all slices. from: the row in the first slice; step: elements to the next slice.
static inline void add_slices(local const column_f *from, int slices, int step, __private column_f *x) {
#pragma unroll
    for (int v = 0; v < NV; ++v) {
        x[v] = from[v * LANES];
        for (int s = 1; s < slices; ++s)
            x[v] = add_sums(x[v], from[s * step + v * LANES]);
    }
}

// values: the tile's sums, [TILE_M][NV]; shared: [sub-group][8][TILE_N]. All sub-groups of a
// work-group must call this, even those without rows, because it has barriers.
static inline void finish_slices(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                 global uchar *dst, __private const struct tile *t, const struct place *at,
                                 long first_row, __private const column_f *values, local column_f *shared) {
    const int number = sub_group_number(), lane = get_sub_group_local_id();
    const int tiles = sub_groups() / at->slices; // in the work-group; number = slice * tiles + tile
    const int area = VEC_ROWS * TILE_N;
    local column_f *mine = shared + number * area + lane;
    local const column_f *first = shared + number % tiles * area + lane;
    global int *partials = partial_sums(p, args, first_row, t->n0);
#pragma unroll 1
    for (int g = 0; g < TILE_M / VEC_ROWS; ++g) {
        if (spec_stage() != STAGE_ADD_RANGES) {
            share_rows(values + g * VEC_ROWS * NV, mine);
            if (at->slices > 1)
                barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int end = min((g + 1) * VEC_ROWS, t->count);
        for (int i = g * VEC_ROWS + at->slice; i < end; i += at->slices) {
            column_f x[NV];
            if (spec_stage() == STAGE_ADD_RANGES)
                load_partial_row(p, x, partials + i * p->partial_row);
            else
                add_slices(first + i % VEC_ROWS * TILE_N, at->slices, tiles * area, x);
            if (spec_stage() == STAGE_PARTIAL) {
                store_partial_row(x, partials + get_group_id(2) * p->partial_range + i * p->partial_row);
            } else {
                const struct row_index r = row_at(p, first_row + i);
                finish_tile_row(p, args, dst, &r, t, x);
                store_row(p, dst, &r, t->n0, t->columns, x);
            }
        }
        if (spec_stage() != STAGE_ADD_RANGES && at->slices > 1)
            barrier(CLK_LOCAL_MEM_FENCE);
    }
}

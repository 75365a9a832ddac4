// SPDX-License-Identifier: Apache-2.0
// FLAG_SLICES: sub-groups of a work-group share a tile (place.h). Their sums meet in local memory, eight rows
// at a time; each of them adds up and finishes some of these, in the slices' order, so that floats always
// round alike.
#pragma once

#include "finish.h"
#include "owner/sub_group/place.h"
#include "partials.h"

// Eight rows of the sums, this lane's columns.
static inline void share_rows(__private const column_f *values, local column_f *to) {
    for (int r = 0; r < VEC_ROWS; ++r)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            to[r * TILE_N + v * LANES] = values[r * NV + v];
}

// from: of the first slice; step: to the next one.
static inline void add_slices(local const column_f *from, int slices, int step, __private column_f *x) {
#pragma unroll
    for (int v = 0; v < NV; ++v) {
        x[v] = from[v * LANES];
        for (int s = 1; s < slices; ++s)
            x[v] = add_sums(x[v], from[s * step + v * LANES]);
    }
}

// values: of the tile, row by row; shared: [sub-group][8][TILE_N]. Every sub-group of a work-group with
// slices comes here, whether or not it has rows.
static inline void finish_slices(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                 global uchar *dst, __private const struct tile *t, const struct place *at,
                                 long first_row, __private const column_f *values, local column_f *shared) {
    const int number = sub_group_number(), lane = get_sub_group_local_id();
    const int tiles = sub_groups() / at->slices; // of the work-group; sub-group: slice * tiles + tile
    const int area = VEC_ROWS * TILE_N;
    local column_f *mine = shared + number * area + lane;
    local const column_f *first = shared + number % tiles * area + lane;
    global int *partials = partial_sums(p, args, first_row, t->n0);
#pragma unroll 1
    for (int g = 0; g < TILE_M / VEC_ROWS; ++g) {
        if (spec_stage() != STAGE_FINISH) {
            share_rows(values + g * VEC_ROWS * NV, mine);
            if (at->slices > 1)
                barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int end = min((g + 1) * VEC_ROWS, t->count);
        for (int i = g * VEC_ROWS + at->slice; i < end; i += at->slices) {
            column_f x[NV];
            if (spec_stage() == STAGE_FINISH)
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
        if (spec_stage() != STAGE_FINISH && at->slices > 1)
            barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Which tile of dst an owner computes, and over which part of K. Both owners include this after
// their vectors.h.
#pragma once

#include "problem/spec.h"
#include "problem/tensor.h"

struct place {
    long matrix;       // number of the matrix in the batch
    long row0, n0;     // the tile's first row and column
    int rows;          // of the tile that are in the matrix; 0 or less if the tile is not
    int slice, slices; // number of the slice of K, and how many share the tile (FLAG_SLICES)
    OWN_GROUP
};

struct k_part {
    k_index begin, end;
};

// Sets the rows of the tile with this number, counted along M. tile_rows: rows of a whole tile.
static inline void place_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                              long number, int tile_rows, struct place *at) {
    at->matrix = GROUP_ID(at, 1);
    at->row0 = number * tile_rows;
    at->rows = (int)min((long)tile_rows, p->rows - at->row0);
    if (HAS_ROW_GROUPS(p)) {
        const struct group_part part = ((global const struct group_part *)args->groups)[number];
        at->matrix = part.group;
        at->row0 = part.begin;
        at->rows = part.count;
    }
}

// The part of K of this owner: its range of K, or of its group of K, or its slice of the range. It may be
// empty.
static inline struct k_part find_k_part(global const struct matmul_problem *p,
                                        const struct matmul_arguments *args, const struct place *at) {
    long begin = GROUP_ID(at, 2) * p->k_range, end = min(begin + p->k_range, p->k);
    if (HAS_K_GROUPS(p)) {
        const struct group_part part = ((global const struct group_part *)args->groups)[at->matrix];
        begin = part.begin + min(begin, (long)part.count);
        end = min(begin + p->k_range, (long)part.begin + part.count);
    }
    if (HAS(FLAG_SLICES) && at->slices > 1) {
        begin = min(begin + at->slice * p->k_slice, end);
        end = min(begin + p->k_slice, end);
    }
    const struct k_part part = {(k_index)begin, (k_index)end};
    return part;
}

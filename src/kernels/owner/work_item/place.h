// SPDX-License-Identifier: Apache-2.0
// Which tile a work-item computes: the GROUP_X work-items of a work-group are neighbours along N.
#pragma once

#include "owner/work_item/vectors.h"

// Where a work-item runs. The functions of a tile get it from their caller, because the CPU device calls them
// without a launch (work_item.h).
struct group {
    long id[3]; // of the work-group
    long item;  // number of the work-item in it
};
#define OWN_GROUP struct group group;
#define GROUP_ID(at, d) ((at)->group.id[d])

#include "problem/tile_place.h"

static inline struct place find_place(global const struct matmul_problem *p,
                                      const struct matmul_arguments *args, struct group group) {
    const int columns = HAS(FLAG_ABREAST) ? TILE_N * p->abreast : TILE_N;
    const long groups_along_n = (p->n + columns * GROUP_X - 1) / (columns * GROUP_X);
    const int tile_rows = spec_stage() == STAGE_ADD_RANGES ? p->adding_rows : p->tile_rows;
    // Groups are numbered strip by strip, and column by column within a strip. The rows of src of a strip
    // stay in the L2 cache while the weights stream through it. If a strip is higher than one group,
    // consecutive groups share columns of weights.
    const long groups_along_m = (p->rows + tile_rows - 1) / tile_rows;
    const long in_strip = p->strip * groups_along_n;
    const long strip = group.id[0] / in_strip, rest = group.id[0] % in_strip;
    const long left = HAS_ROW_GROUPS(p) ? p->strip : groups_along_m - strip * p->strip;
    const long height = min((long)p->strip, left);
    struct place at = {.group = group};
    at.n0 = (rest / height * GROUP_X + group.item) * columns;
    place_rows(p, args, strip * p->strip + rest % height, tile_rows, &at);
    at.slice = 0;
    at.slices = 1;
    return at;
}

// SPDX-License-Identifier: Apache-2.0
// Which tile a work-item computes: the GROUP_X work-items of a work-group are neighbours along N.
#pragma once

#include "owner/work_item/vectors.h"

#include "tile_place.h"

static inline struct place find_place(global const struct matmul_problem *p) {
    const int columns = HAS(FLAG_ABREAST) ? TILE_N * p->abreast : TILE_N;
    const long groups_along_n = (p->n + columns * GROUP_X - 1) / (columns * GROUP_X);
    // Groups are numbered along N first. Consecutive groups share rows of src, which stay in the L2
    // cache while the weights stream through it.
    const long group_m = get_group_id(0) / groups_along_n, group_n = get_group_id(0) % groups_along_n;
    const int tile_rows = spec_stage() == STAGE_FINISH ? p->finish_rows : p->tile_rows;
    struct place at;
    at.n0 = (group_n * GROUP_X + get_local_id(0)) * columns;
    at.row0 = (group_m * get_local_size(1) + get_local_id(1)) * tile_rows;
    at.slice = 0;
    at.slices = 1;
    return at;
}

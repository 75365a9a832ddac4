// SPDX-License-Identifier: Apache-2.0
// Which tile a sub-group computes.
//
// With FLAG_SLICES, p->slices sub-groups of a work-group share a tile, each with a slice of K
// (slices.h), from group p->whole_groups of tiles on. Such a group of tiles is spread over several
// work-groups, so that few tiles keep many sub-groups busy, also in the last wave.
#pragma once

#include "owner/sub_group/vectors.h"

#define OWN_GROUP
#define GROUP_ID(at, d) get_group_id(d)

#include "problem/tile_place.h"

// The number of the sub-group in its work-group, and how many sub-groups it has.
static inline int sub_group_number(void) {
    const int x = (int)get_local_id(0) / LANES, along_x = (int)get_local_size(0) / LANES;
    return sub_group_broadcast((int)get_local_id(1) * along_x + x, 0);
}
static inline int sub_groups(void) {
    return (int)get_local_size(1) * ((int)get_local_size(0) / LANES);
}

static inline struct place find_place(global const struct matmul_problem *p,
                                      const struct matmul_arguments *args) {
    struct place at;
    at.slice = 0;
    at.slices = 1;
    int group = (int)get_group_id(0); // number of the group of tiles
    int x = sub_group_broadcast((int)get_local_id(0) / LANES, 0);
    int y = sub_group_broadcast((int)get_local_id(1), 0);
    if (HAS(FLAG_SLICES)) {
        int tile = sub_group_number();
        if (group >= p->whole_groups) {
            const int tiles = sub_groups() / p->slices, parts = p->group_x * p->group_y / tiles;
            const int rest = group - p->whole_groups;
            group = p->whole_groups + rest / parts;
            at.slice = tile / tiles;
            at.slices = p->slices;
            tile = rest % parts * tiles + tile % tiles;
        }
        x = tile % p->group_x;
        y = tile / p->group_x;
    }
    // Groups are numbered in strips, column by column. Groups that run at the same time then share
    // rows of src and columns of weights in the L2 cache.
    const int along_n = ((int)p->n + TILE_N * p->group_x - 1) / (TILE_N * p->group_x);
    const int in_strip = p->strip * along_n;
    const int strip = group / in_strip, rest = group % in_strip;
    const int height = min(p->strip, p->groups_m - strip * p->strip);
    at.n0 = ((long)(rest / height) * p->group_x + x) * TILE_N;
    place_rows(p, args, (long)(strip * p->strip + rest % height) * p->group_y + y, TILE_M, &at);
    return at;
}

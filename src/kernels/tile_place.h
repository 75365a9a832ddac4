// SPDX-License-Identifier: Apache-2.0
// Which tile of dst an owner computes, and over which part of K. Both owners include this after
// their vectors.h.
#pragma once

#include "spec.h"
#include "tensor.h"

struct place {
    long row0, n0;     // the tile's first row and column
    int slice, slices; // number of the slice of K, and how many share the tile (FLAG_SLICES)
};

struct k_part {
    k_index begin, end;
};

// The part of K of this owner: its range, or its slice of the range, which may be empty.
static inline struct k_part find_k_part(global const struct matmul_problem *p, const struct place *at) {
    long begin = get_group_id(2) * p->k_range, end = min(begin + p->k_range, p->k);
    if (HAS(FLAG_SLICES) && at->slices > 1) {
        begin = min(begin + at->slice * p->k_slice, end);
        end = min(begin + p->k_slice, end);
    }
    const struct k_part part = {(k_index)begin, (k_index)end};
    return part;
}

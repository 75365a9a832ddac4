// SPDX-License-Identifier: Apache-2.0
// For policies that multiply a group of rows with all columns at once. They read src while they
// multiply, so the group only notes where it is.
#pragma once

#include OWNER

#define AT_ONCE(count) VECTORS(count)

struct a_group {
    bytes src;
    global const struct matmul_problem *p;
    __private const struct tile_rows *rows;
    int i0;  // the group's first row in the tile
    long k0; // the block's first element of K
};

static inline __attribute__((always_inline)) void load_group(bytes src, global const struct matmul_problem *p,
                                                             __private const struct tile_rows *rows, int i0,
                                                             long k0, __private struct a_group *a) {
    *a = (struct a_group){src, p, rows, i0, k0};
}

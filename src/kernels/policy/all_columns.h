// SPDX-License-Identifier: Apache-2.0
// For policies that multiply a group of rows with all columns at once: src is read on the way.
#pragma once

#include OWNER

#define AT_ONCE(count) VECTORS(count)

struct a_group {
    bytes src;
    global const struct matmul_problem *p;
    __private const struct tile_rows *rows;
    int i0;  // the group's first row
    long k0; // the block's first element
};

static inline __attribute__((always_inline)) void load_group(bytes src, global const struct matmul_problem *p,
                                                             __private const struct tile_rows *rows, int i0,
                                                             long k0, __private struct a_group *a) {
    *a = (struct a_group){src, p, rows, i0, k0};
}

// SPDX-License-Identifier: Apache-2.0
// For policies that multiply a group of rows with one part of the columns after the other, so that the sums
// of a part stay in registers. The policy defines PART_COLUMNS(count), the vectors of columns in a part for
// `count` rows, and GROUP_STATE, members of struct a_group that one part leaves for the next ones.
//
// multiply(count, v, ...) gets the part's first vector of columns. The sums of row i are isum[i * NV] and
// those that follow.
#pragma once

#include OWNER

#define AT_ONCE(count) PART_VECTORS(count)
#define PART_VECTORS(count) ((count)*PART_COLUMNS(count))
#if TILE_M == ROWS
#define UNROLL_PARTS "unroll"
#else // it would take too long to compile
#define UNROLL_PARTS "unroll 1"
#endif
#define EACH_PART _Pragma(UNROLL_PARTS) for (int part = 0; part < NV; part += PART_COLUMNS(count))
#define FIRST_OF(v) part
// Of vector i of a part: the number of its sum, of its result in the tile, its row and its column vector.
#define SUM_OF(i) ROW_OF(i) * NV + i % PART_COLUMNS(count)
#define RESULT_OF(i) ROW_OF(i) * NV + COLUMN_OF(i)
#define ROW_OF(i) i / PART_COLUMNS(count)
#define COLUMN_OF(i) part + i % PART_COLUMNS(count)

struct a_group {
    bytes src;
    global const struct matmul_problem *p;
    __private const struct tile_rows *rows;
    int i0;  // the group's first row in the tile
    long k0; // the block's first element of K
    GROUP_STATE
};

static inline __attribute__((always_inline)) void load_group(bytes src, global const struct matmul_problem *p,
                                                             __private const struct tile_rows *rows, int i0,
                                                             long k0, __private struct a_group *a) {
    a->src = src;
    a->p = p;
    a->rows = rows;
    a->i0 = i0;
    a->k0 = k0;
}

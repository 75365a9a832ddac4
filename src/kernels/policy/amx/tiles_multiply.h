// SPDX-License-Identifier: Apache-2.0
// Products by tiles (tiles.h), for groups of 32 rows and 64 columns. A unit is the products of a group and 32
// of the columns: two by two tiles of sums use each loaded tile twice, four loads for four products
// (owner/work_item/units.h).
//
// A step is the part of K in a row of a tile of src. The policy that includes this defines
//   STEP                elements of K in a step
//   TILE_MULTIPLY(tiles, sum, src, wei)
//   src_in_place()      whether src has the type that is multiplied
//   copy_src_row(to, src, i, length)   `length` elements of a row of src from element i on, as they
//                       are multiplied, and zeros up to STEP elements
// and the weights of a block (struct b_panel). If elements may be sums of two of the multiplied type:
//   PARTS               2
//   SPLITS_SRC          whether those of src are. All first parts of a row are followed by all second ones
//                       (WIDE_ROW)
//   SPLITS_WEI          whether those of the weights are. The panel has all second parts PANEL_PART vectors
//                       behind the first ones
//   MAY_MISS_INFINITY   whether a part that is 0 may meet infinity (owner/work_item/unit_parts.h)
#pragma once

#include "policy/amx/tiles.h"
#include "policy/shared/prefetch.h"

#if ROWS != 32 || TILE_N != 64 || LANES != 16
#error "tiles of sums are two by two, twice"
#endif

#define MULTIPLIES_UNITS 1
#define PREFETCHES_DST 1
#define SUM_FACTOR 1.f
#define BEFORE_PRODUCTS()                                                                                    \
    ulong8 tiles_before;                                                                                     \
    configure_tiles(&tiles_before)
#define AFTER_PRODUCTS() restore_tiles(&tiles_before)

#ifndef PARTS
#define PARTS 1
#define SPLITS_SRC false
#define SPLITS_WEI false
#define MAY_MISS_INFINITY false
#endif

#define STEPS (TILE_K / STEP)
// The private array: weights [PARTS][STEPS][16 rows][NV], src [PARTS][STEPS][ROWS], sums of two units
// [2][ROWS][NV / 2].
#define PANEL_PART (STEPS * 16 * NV)
#define PANEL_SRC (PARTS * PANEL_PART)
#define PANEL_SUMS (PANEL_SRC + PARTS * STEPS * ROWS)
#define PANEL_VECTORS (PANEL_SUMS + ROWS * NV)
typedef vec_i panel_vec;

// The addresses of the weights of a block: for each step, 16 rows of 64 words. The steps that K fills begin
// at whole. The last one, if K does not fill it, is in the panel.
struct b_panel {
    ulong whole, last;
};
#define WEI_ROW 256 // bytes from row to row of a tile of weights
#define WEI_STEP (16 * WEI_ROW)
#define WEI_PART (STEPS * WEI_STEP) // from part to part

// The address of the weights' step s. filled: how many steps K fills.
static inline ulong wei_step(struct b_panel b, int s, int filled) {
    return s < filled ? b.whole + s * WEI_STEP : b.last;
}

// A group of up to ROWS rows of src. Its lower tiles begin with row `lower`, so that no tile reads behind the
// last row: 16, or less where there are fewer than ROWS rows. Their sums are then made twice.
struct row_block {
    ulong src;   // where its first element of K is
    long stride; // bytes from row to row
    long part;   // and from part to part
    int lower;
};

// Whether tiles of a group of rows can be loaded from where they are: they fill one, and are equally far
// apart.
static inline bool is_in_place(__private const long *rows, int count) {
    if (!src_in_place() || count < 16)
        return false;
    const long stride = rows[1] - rows[0];
    long different = 0;
#pragma unroll 1
    for (int i = 2; i < count; ++i)
        different |= (rows[i] - rows[i - 1]) ^ stride;
    return different == 0;
}

// Copies the steps of src, or of a part of it, from step `first` on to the same steps of the copy:
// [steps][ROWS].
static __attribute__((noinline)) void copy_src(bytes src, __private const long *rows, long k0, int first,
                                               int length, __private panel_vec *copy) {
#pragma unroll 1
    for (int s = first; s * STEP < length; ++s)
#pragma unroll 1
        for (int i = 0; i < ROWS; ++i)
            copy_src_row((__private uchar *)(copy + s * ROWS + i), src, rows[i] + k0 + s * STEP,
                         min(STEP, length - s * STEP));
}

// Bytes from part to part.
static inline long src_part(global const struct matmul_problem *p) {
    return SPLITS_SRC ? WIDE_ROW(p->k, STEP) * (64 / STEP) : 0;
}

static inline void copy_parts(bytes src, global const struct matmul_problem *p, __private const long *rows,
                              long k0, int first, int length, __private panel_vec *copy) {
    copy_src(src, rows, k0, first, length, copy);
    if (SPLITS_SRC)
        copy_src(src + src_part(p), rows, k0, first, length, copy + STEPS * ROWS);
}

static inline struct row_block rows_in_place(bytes src, global const struct matmul_problem *p,
                                             __private const long *rows, int count, long k0) {
    return (struct row_block){(ulong)src + (rows[0] + k0) * (64 / STEP), (rows[1] - rows[0]) * (64 / STEP),
                              src_part(p), min(16, count - 16)};
}
static inline struct row_block rows_of_copy(__private const panel_vec *copy, int lower) {
    return (struct row_block){(ulong)copy, 64, STEPS * ROWS * 64, lower};
}

// Adds a step of K to the four tiles of sums. a, b: addresses.
#define MULTIPLY_STEP(tiles, rows, a, b)                                                                     \
    do {                                                                                                     \
        TILE_LOAD(tiles, 6, b, WEI_ROW);                                                                     \
        TILE_LOAD(tiles, 4, a, (rows).stride);                                                               \
        TILE_MULTIPLY(tiles, 0, 4, 6);                                                                       \
        TILE_LOAD(tiles, 7, (b) + 64, WEI_ROW);                                                              \
        TILE_MULTIPLY(tiles, 1, 4, 7);                                                                       \
        TILE_LOAD(tiles, 5, (a) + (rows).lower * (rows).stride, (rows).stride);                              \
        TILE_MULTIPLY(tiles, 2, 5, 6);                                                                       \
        TILE_MULTIPLY(tiles, 3, 5, 7);                                                                       \
        if (SPLITS_SRC)                                                                                      \
            MULTIPLY_OTHER_SRC(tiles, rows, (a) + (rows).part);                                              \
        if (SPLITS_WEI)                                                                                      \
            MULTIPLY_OTHER_WEI(tiles, (b) + WEI_PART);                                                       \
        if (SPLITS_SRC && SPLITS_WEI)                                                                        \
            MULTIPLY_OTHER_SRC(tiles, rows, a);                                                              \
    } while (0)
// Multiplies another part of one operand, while tiles have one of the other operand.
#define MULTIPLY_OTHER_SRC(tiles, rows, a)                                                                   \
    do {                                                                                                     \
        TILE_LOAD(tiles, 4, a, (rows).stride);                                                               \
        TILE_MULTIPLY(tiles, 0, 4, 6);                                                                       \
        TILE_MULTIPLY(tiles, 1, 4, 7);                                                                       \
        TILE_LOAD(tiles, 5, (a) + (rows).lower * (rows).stride, (rows).stride);                              \
        TILE_MULTIPLY(tiles, 2, 5, 6);                                                                       \
        TILE_MULTIPLY(tiles, 3, 5, 7);                                                                       \
    } while (0)
#define MULTIPLY_OTHER_WEI(tiles, b)                                                                         \
    do {                                                                                                     \
        TILE_LOAD(tiles, 6, b, WEI_ROW);                                                                     \
        TILE_MULTIPLY(tiles, 0, 4, 6);                                                                       \
        TILE_LOAD(tiles, 7, (b) + 64, WEI_ROW);                                                              \
        TILE_MULTIPLY(tiles, 1, 4, 7);                                                                       \
        TILE_MULTIPLY(tiles, 2, 5, 6);                                                                       \
        TILE_MULTIPLY(tiles, 3, 5, 7);                                                                       \
    } while (0)

// For all four tiles of sums. to: where the unit's sums are; row: bytes from row to row.
#define EACH_TILE_OF_SUMS(of, tiles, to, row, lower)                                                         \
    do {                                                                                                     \
        of(tiles, 0, to, row);                                                                               \
        of(tiles, 1, (to) + 64, row);                                                                        \
        of(tiles, 2, (to) + (lower) * (row), row);                                                           \
        of(tiles, 3, (to) + (lower) * (row) + 64, row);                                                      \
    } while (0)
#define CLEAR_TILE(tiles, number, to, row) TILE_ZERO(tiles, number)

#include "owner/work_item/kept_units.h"

// SPDX-License-Identifier: Apache-2.0
// Products by tiles (tiles.h), for groups of 32 rows and 64 columns. Two by two tiles of sums use
// each loaded tile twice: four loads for four products.
//
// A step is the part of K in a row of a tile of src. The policy that includes this defines
//   STEP                elements of K in a step
//   TILE_MULTIPLY(tiles, sum, src, wei)
//   src_in_place()      whether src has the type that is multiplied
//   copy_src_row(to, src, i, length)   `length` elements of a row of src from element i on, as they
//                       are multiplied, and zeros up to STEP elements
// and the weights of a block (struct b_panel).
#pragma once

#include "policy/prefetch.h"
#include "policy/tiles.h"

#if ROWS != 32 || TILE_N != 64 || LANES != 16
#error "tiles of sums are two by two, twice"
#endif
#if 2 * TILE_K > ROWS * STEP
#error "a group has more steps than parts"
#endif

#define MULTIPLIES_AHEAD 1
#define SUM_FACTOR 1.f
#define BEFORE_PRODUCTS() configure_tiles()
#define AFTER_PRODUCTS() release_tiles()

#define STEPS ((TILE_K + STEP - 1) / STEP)
// The private array: weights [STEPS][16 rows][NV], src [STEPS][ROWS], sums [2][ROWS][NV].
#define PANEL_SRC (STEPS * 16 * NV)
#define PANEL_SUMS (PANEL_SRC + STEPS * ROWS)
#define PANEL_VECTORS (PANEL_SUMS + 2 * ROWS * NV)
typedef vec_i panel_vec;

// The weights of a block: for each step, 16 rows of 64 words. The steps that K fills begin at whole,
// the last one, if K does not fill it, is in the panel.
struct b_panel {
    ulong whole;
    __private panel_vec *panel;
};
#define WEI_ROW 256 // bytes from row to row of a tile of weights
#define WEI_STEP (16 * WEI_ROW)

// The address of the weights' step s. whole: how many steps K fills.
static inline ulong wei_step(struct b_panel b, int s, int whole) {
    return s < whole ? b.whole + s * WEI_STEP : (ulong)(b.panel + s * 16 * NV);
}

// The products of a group of rows and a block, which are made in parts.
struct group_ahead {
    ulong src, wei;           // the steps that K fills
    ulong stride, step;       // of src: bytes from row to row, and from step to step
    ulong last_src, last_wei; // the last step, if K does not fill it
    ulong sums;
    int whole, steps;            // steps that K fills, and all
    int step_at, side;           // the next step, of the left or right 32 columns
    int due;                     // that many ROWSths of a step are still to be made
    struct tile_rows16 tiles[8]; // in software
};

// Whether the rows of a group are equally far apart, so that tiles can be loaded from where they are.
static inline bool rows_are_even(__private const long *rows) {
    const long stride = rows[1] - rows[0];
    long different = 0;
#pragma unroll
    for (int i = 2; i < ROWS; ++i)
        different |= (rows[i] - rows[i - 1]) ^ stride;
    return different == 0;
}

// Copies the steps of src from step `first` on to the panel.
static __attribute__((noinline)) void copy_src(bytes src, __private const long *rows, long k0, int first,
                                               int length, __private panel_vec *copy) {
#pragma unroll 1
    for (int s = first; s * STEP < length; ++s)
#pragma unroll 1
        for (int i = 0; i < ROWS; ++i)
            copy_src_row((__private uchar *)(copy + s * ROWS + i), src, rows[i] + k0 + s * STEP,
                         min(STEP, length - s * STEP));
}

// The sums of a row of the tile, and of those that follow in its group. There are two groups: one is
// multiplied while the other one is scaled.
static inline __private panel_vec *sums_of(__private panel_vec *panel, int row) {
    return panel + PANEL_SUMS + (uint)row % (2 * ROWS) * NV;
}

static inline void begin_group(bytes src, __private const long *rows, int i0, long k0, int length,
                               struct b_panel b, __private struct group_ahead *g) {
    const ulong copy = (ulong)(b.panel + PANEL_SRC);
    g->whole = length / STEP;
    g->steps = (length + STEP - 1) / STEP;
    g->step_at = g->side = g->due = 0;
    g->sums = (ulong)sums_of(b.panel, i0);
    g->wei = b.whole;
    g->last_wei = (ulong)(b.panel + g->whole * 16 * NV);
    g->last_src = copy + g->whole * ROWS * 64;
    const bool in_place = src_in_place() && rows_are_even(rows);
    if (!in_place || g->whole < g->steps)
        copy_src(src, rows, k0, in_place ? g->whole : 0, length, b.panel + PANEL_SRC);
    // In the copy a step has 64 bytes of each row.
    g->src = in_place ? (ulong)src + (rows[0] + k0) * (64 / STEP) : copy;
    g->stride = in_place ? (rows[1] - rows[0]) * (64 / STEP) : 64;
    g->step = in_place ? 64 : ROWS * 64;
}

// Adds a step of K to the four tiles of sums. a, b: addresses; stride: bytes from row to row of src.
#define MULTIPLY_STEP(tiles, a, stride, b)                                                                   \
    do {                                                                                                     \
        TILE_LOAD(tiles, 6, b, WEI_ROW);                                                                     \
        TILE_LOAD(tiles, 4, a, stride);                                                                      \
        TILE_MULTIPLY(tiles, 0, 4, 6);                                                                       \
        TILE_LOAD(tiles, 7, (b) + 64, WEI_ROW);                                                              \
        TILE_MULTIPLY(tiles, 1, 4, 7);                                                                       \
        TILE_LOAD(tiles, 5, (a) + 16 * (stride), stride);                                                    \
        TILE_MULTIPLY(tiles, 2, 5, 6);                                                                       \
        TILE_MULTIPLY(tiles, 3, 5, 7);                                                                       \
    } while (0)

// Makes the products of a step if the part has one: the steps of both sides are dealt evenly to the
// ROWS parts.
static inline void multiply_part(__private struct group_ahead *g) {
    g->due += 2 * g->steps;
    if (g->due < ROWS)
        return;
    g->due -= ROWS;
    if (g->step_at == 0) {
        TILE_ZERO(g->tiles, 0);
        TILE_ZERO(g->tiles, 1);
        TILE_ZERO(g->tiles, 2);
        TILE_ZERO(g->tiles, 3);
    }
    const bool is_whole = g->step_at < g->whole;
    const ulong src = is_whole ? g->src + g->step_at * g->step : g->last_src;
    const ulong stride = is_whole ? g->stride : 64;
    const ulong wei = is_whole ? g->wei + g->step_at * WEI_STEP : g->last_wei;
    // Prefetches the step of src in the next block, half of the rows with each side: their pieces are
    // too short for the hardware's prefetchers.
    ulong next = src + g->whole * g->step + g->side * 16 * stride;
#pragma unroll
    for (int i = 0; i < 16; ++i, next += stride)
        prefetch_line((bytes)next);
    MULTIPLY_STEP(g->tiles, src, stride, wei + g->side * 128);
    if (++g->step_at < g->steps)
        return;
    const ulong to = g->sums + g->side * 128;
    TILE_STORE(g->tiles, 0, to, 256);
    TILE_STORE(g->tiles, 1, to + 64, 256);
    TILE_STORE(g->tiles, 2, to + 16 * 256, 256);
    TILE_STORE(g->tiles, 3, to + 16 * 256 + 64, 256);
    g->step_at = 0;
    g->side = 1;
}

// Adds the products of a row: to integers[v] those of bytes, to floats[v] those of bf16.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *integers,
                                                           __private vec_f *floats) {
    __private const panel_vec *products = sums_of(b.panel, group->i0);
#pragma unroll
    for (int v = 0; v < NV; ++v)
        if (HAS(FLAG_INTEGER))
            integers[v] += products[v];
        else
            floats[v] += as_vec_f(products[v]);
}

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
#define PARTS 8 // of the products of a group. While one is made, ROWS / PARTS rows are scaled
#undef AT_ONCE
#define AT_ONCE(count) NV
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
    __private const panel_vec *products; // of a group of rows, which multiply() takes row by row
    // Where the next block is in memory, if all of it lies together.
    ulong next, next_end;
};
#define WEI_ROW 256 // bytes from row to row of a tile of weights
#define WEI_STEP (16 * WEI_ROW)

// The address of the weights' step s. whole: how many steps K fills.
static inline ulong wei_step(struct b_panel b, int s, int whole) {
    return s < whole ? b.whole + s * WEI_STEP : (ulong)(b.panel + s * 16 * NV);
}

// Notes where the block behind one of packed weights lies. first: the element at which that block begins.
static inline void find_next_wei(bytes wei, long first, int length, __private struct b_panel *b) {
    const int block = length * PACKED_N * wei_bits() / 8;
    b->next = (ulong)(wei + first * wei_bits() / 8) + block;
    b->next_end = b->next + (spec_wei_unit() == UNIT_PACKED ? block : 0);
}

// The products of a group of rows and a block, which are made in parts.
struct group_ahead {
    ulong src, wei;              // the steps that K fills
    ulong stride, step;          // of src: bytes from row to row, and from step to step
    ulong last_src, last_wei;    // the last step, if K does not fill it
    ulong next_wei, next_end;    // what is still to be prefetched of the weights of the next block
    __private panel_vec *sums;   // [ROWS][NV]
    int whole, steps;            // steps that K fills, and all
    int step_at, side;           // the next step, of the left or right 32 columns
    int due;                     // so many parts of a step are still to be made
    ulong next_src;              // rows that follow, to be prefetched; 0: none
    bool is_only;                // the tile has no other group
    long end;                    // of the range of K
    uint even;                   // bit i: the rows of group i are equally far apart
    struct tile_rows16 tiles[8]; // in software
};
#define NOTE_END(t, k_end) ((t)->ahead.end = (k_end))
#define POLICY_STATE                                                                                         \
    struct b_panel wei;                                                                                      \
    struct group_ahead ahead;

// Whether the rows of a group are equally far apart, so that tiles can be loaded from where they are.
static inline bool rows_are_even(__private const long *rows) {
    const long stride = rows[1] - rows[0];
    long different = 0;
#pragma unroll
    for (int i = 2; i < ROWS; ++i)
        different |= (rows[i] - rows[i - 1]) ^ stride;
    return different == 0;
}

// Prepares the groups of a tile.
static inline void open_groups(__private const struct tile_rows *rows, __private struct group_ahead *g) {
    g->even = 0;
#pragma unroll 1
    for (int i = 0; i < rows->padded; i += ROWS)
        g->even |= src_in_place() && rows_are_even(rows->src + i) ? 1u << i / ROWS : 0;
    g->is_only = !has_groups(rows);
    g->sums = 0;
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

// Prepares the products of a group and a block. i0: the first row of the group in the tile.
static inline void begin_group(bytes src, __private const struct tile_rows *tile_rows, int i0, long k0,
                               int length, struct b_panel b, __private struct group_ahead *g) {
    const ulong copy = (ulong)(b.panel + PANEL_SRC);
    __private const long *rows = tile_rows->src + i0;
    const bool is_last = i0 + ROWS >= tile_rows->padded;
    __private panel_vec *sums = b.panel + PANEL_SUMS;
    g->whole = length / STEP;
    g->steps = (length + STEP - 1) / STEP;
    g->step_at = g->side = g->due = 0;
    // There are two groups: one is multiplied while the other one is scaled, unless the tile has only one.
    g->sums = g->sums == sums && !g->is_only ? sums + ROWS * NV : sums;
    g->wei = b.whole;
    g->last_wei = (ulong)(b.panel + g->whole * 16 * NV);
    g->last_src = copy + g->whole * ROWS * 64;
    if (i0 == 0) {
        g->next_wei = b.next;
        g->next_end = b.next_end;
    }
    const bool in_place = g->even >> i0 / ROWS & 1;
    if (!in_place || g->whole < g->steps)
        copy_src(src, rows, k0, in_place ? g->whole : 0, length, b.panel + PANEL_SRC);
    // In the copy a step has 64 bytes of each row.
    g->src = in_place ? (ulong)src + (rows[0] + k0) * (64 / STEP) : copy;
    g->stride = in_place ? (rows[1] - rows[0]) * (64 / STEP) : 64;
    g->step = in_place ? 64 : ROWS * 64;
    // The same rows in the next block if those of the next group fall into the same sets of the L1 cache.
    // Else the next group, unless the cache does not hold two of them. Rows that are copied are not read
    // here.
    const int most_steps = 4;
    if (g->stride % STRIDE_OF_SETS == 0)
        g->next_src = g->src + g->whole * g->step;
    else if (g->steps > most_steps || !in_place)
        g->next_src = 0;
    else
        g->next_src =
            (ulong)src + (is_last ? tile_rows->src[0] + k0 + length : rows[ROWS] + k0) * (64 / STEP);
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

// Makes the products of the next step.
static inline void multiply_step(__private struct group_ahead *g) {
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
    // Prefetches a step of the rows that follow, half of them with each side: their pieces are too short for
    // the hardware's prefetchers.
    if (g->next_src != 0) {
        ulong next = g->next_src + g->step_at * 64 + g->side * 16 * stride;
#pragma unroll
        for (int i = 0; i < 16; ++i, next += stride)
            prefetch_line((bytes)next);
    }
    // And some of the next weights, which would come from memory in a pattern that the prefetchers miss.
    for (int part = 0; part < (g->is_only ? 2 : 1); ++part)
        if (g->next_wei < g->next_end) {
#pragma unroll
            for (int i = 0; i < 16; ++i, g->next_wei += 64)
                prefetch_line_l2((bytes)g->next_wei);
        }
    MULTIPLY_STEP(g->tiles, src, stride, wei + g->side * 128);
    if (++g->step_at < g->steps)
        return;
    const ulong to = (ulong)g->sums + g->side * 128;
    TILE_STORE(g->tiles, 0, to, 256);
    TILE_STORE(g->tiles, 1, to + 64, 256);
    TILE_STORE(g->tiles, 2, to + 16 * 256, 256);
    TILE_STORE(g->tiles, 3, to + 16 * 256 + 64, 256);
    g->step_at = 0;
    g->side = 1;
}

// Makes one of PARTS parts of the products: the steps of both sides are dealt evenly to them.
static inline void multiply_part(__private struct group_ahead *g) {
#pragma unroll 1
    for (g->due += 2 * g->steps; g->due >= PARTS; g->due -= PARTS)
        multiply_step(g);
}

// Adds the products of a row, of `count` from the group's on: to integers[v] those of bytes, to floats[v]
// those of bf16.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *integers,
                                                           __private vec_f *floats) {
    __private const panel_vec *products = b.products + (uint)group->i0 % ROWS * NV;
#pragma unroll
    for (int v = first; v < first + NV; ++v)
        if (HAS(FLAG_INTEGER))
            integers[v] += products[v];
        else
            floats[v] += as_vec_f(products[v]);
}

// SPDX-License-Identifier: Apache-2.0
// Segments that are groups of K of TILE_BYTES, each of which is one product of tiles: 16 rows by a vector of
// columns. Their results stay in registers over all kept segments. The products of a group are made while the
// sums of the groups before are stored and scaled.
#pragma once

#include "owner/work_item/kept_rows.h"

#define TILE_ROWS 16
#define GROUP_BYTES (TILE_BYTES / 4 * WEI_ROW) // of the weights of a group
#define COPY_ROW (TILE_K / 64 + 1)             // vectors from row to row of a copy of src: an odd number

// Adds the scaled sums of group n to the results of vector v of the columns, and of 16 rows. rows: how many
// times 16 rows come before these in the tile.
static inline __attribute__((always_inline)) void scale_group(__private const struct tile *t,
                                                              __private const panel_vec *sums, int n,
                                                              int rows, int v, __private vec_f *results) {
    const column_i zp = kept_zero_point(t, n, v), wei_sum = t->kept.segments[n].wei_sum[v];
    const column_f scale = kept_scale(t, n, v);
    __private const int *correction = (__private const int *)&KEPT_VECTOR(t->kept.correction, n, rows);
    __private const int *src_zp = (__private const int *)&KEPT_VECTOR(t->kept.src_zp, n, rows);
    __private const float *src_scale = (__private const float *)&KEPT_VECTOR(t->kept.scale, n, rows);
#pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i) {
        vec_i sum = sums[i] - subtrahend(zp, correction[i]);
        if (HAS(FLAG_SRC_ZP))
            sum -= wei_sum * (vec_i)src_zp[i];
        results[i] = add_scaled(results[i], to_vec_f(sum), zp, scale, correction[i], src_scale[i]);
    }
}

// Copies 16 rows of the kept groups.
static __attribute__((noinline)) void copy_group_rows(bytes src, __private const long *rows, long k0,
                                                      int length, __private panel_vec *copy) {
#pragma unroll 1
    for (int i = 0; i < TILE_ROWS; ++i)
#pragma unroll 1
        for (int k = 0; k < length; k += 32)
            vstore8(vload8(0, (global const int *)(src + rows[i] + k0 + k)), k / 32,
                    (__private int *)(copy + i * COPY_ROW));
}

// A step of the loop over groups: the products of group n in tile `own`, the sums of group n - 1 from tile
// `other` to memory, those of group n - 2, which were in `own`, to the results.
#define GROUP_STEP(own, other, a, b, n)                                                                      \
    do {                                                                                                     \
        if ((n) < groups) {                                                                                  \
            TILE_ZERO(t->units.tiles, own);                                                                  \
            TILE_LOAD(t->units.tiles, a, src + (n)*TILE_BYTES, stride);                                      \
            TILE_LOAD(t->units.tiles, b, wei + (n)*GROUP_BYTES, WEI_ROW);                                    \
            TILE_MULTIPLY(t->units.tiles, own, a, b);                                                        \
        }                                                                                                    \
        if ((n) > 0 && (n) <= groups)                                                                        \
            TILE_STORE(t->units.tiles, other, (ulong)(sums + other * TILE_ROWS), 64);                        \
        if ((n) > 1 && (n) < groups + 2)                                                                     \
            scale_group(t, sums + own * TILE_ROWS, (n)-2, i0 / TILE_ROWS, v, results);                       \
    } while (0)

// Adds the kept groups to the results of 16 rows from row i0 of the tile on, and vector v of the columns.
// src, wei: addresses; stride: bytes from row to row of src.
static inline __attribute__((always_inline)) void multiply_group_tile(ulong src, long stride, ulong wei,
                                                                      int i0, int v,
                                                                      __private panel_vec *sums,
                                                                      __private struct tile *t) {
    const int groups = t->kept.count;
    vec_f results[TILE_ROWS];
#pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        results[i] = t->result[(i0 + i) * NV + v];
#pragma unroll 1
    for (int n = 0; n < groups + 2; n += 2) {
        GROUP_STEP(0, 1, 4, 6, n);
        GROUP_STEP(1, 0, 5, 7, n + 1);
    }
#pragma unroll
    for (int i = 0; i < TILE_ROWS; ++i)
        t->result[(i0 + i) * NV + v] = results[i];
}

// Multiplies all rows of the tile with the kept groups. ahead: the weights of the groups after these, if they
// are packed. They are prefetched in parts, for the first rows would wait for each of them.
static inline void multiply_groups(bytes src, bytes ahead, __private panel_vec *panel,
                                   __private struct tile *t) {
    const int lines = spec_wei_unit() == UNIT_PACKED ? t->kept.count * GROUP_BYTES / 64 * wei_bits() / 8 : 0;
    const int each = lines / ((t->count + TILE_ROWS - 1) / TILE_ROWS * NV);
    const k_index k0 = t->units.segments[0].k0;
    const ulong wei = t->units.segments[0].wei.whole;
    __private panel_vec *copy = panel + PANEL_SRC;
#pragma unroll 1
    for (int i0 = 0; i0 < t->count; i0 += TILE_ROWS) {
        __private const long *rows = t->rows.src + i0;
        ulong from = (ulong)(src + rows[0] + k0);
        long stride = rows[1] - rows[0];
        if (!is_in_place(rows, min(t->count - i0, TILE_ROWS))) {
            copy_group_rows(src, rows, k0, t->kept.count * TILE_BYTES, copy);
            from = (ulong)copy;
            stride = COPY_ROW * 64;
        }
#pragma unroll 1
        for (int v = 0; v < NV; ++v) {
#pragma unroll 1
            for (int i = 0; i < each; ++i, ahead += 64)
                prefetch_line_l2(ahead);
            multiply_group_tile(from, stride, wei + v * 64, i0, v, panel + PANEL_SUMS, t);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products: src as it is in memory, weights as a panel of quads (int8_panel.h), sums in
// s32. An ISA's header defines DOT(sum, unsigned_bytes, signed_bytes), its instruction, and
// includes this.
#pragma once

#include "policy/cpu/unlike_bytes.h"
#include "policy/shared/all_columns.h"

#include "policy/cpu/int8_panel.h"

#ifndef KEEPS_SEGMENTS // which is for many rows
#include "policy/cpu/quantized_row.h"
#endif

static inline vec_i dot_quads(vec_i sum, vec_i wei, vec_i src) {
    return src_is_signed() ? DOT(sum, wei, src) : DOT(sum, src, wei);
}

#include "policy/cpu/int8_along_k.h"
#include "policy/cpu/int8_along_n.h"

#include "policy/cpu/int8_block.h"
#include "policy/cpu/int8_quarters.h"

#ifndef KEEPS_SEGMENTS
#include "policy/cpu/int8_few_rows.h"
#endif

// sum[v] += the sum of the panel's column vector v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#if LANES == 16
    if (HAS(FLAG_ALONG_K)) {
        multiply_along_k(1, true, 0, 0, 0, b.wei, b.plain, b.first, b.columns, length, 0, sum);
        return;
    }
#if TILE_N == 64
    if (multiplies_along_n()) {
        multiply_along_n(1, true, 0, 0, 0, b.wei, b.plain, b.first, length, 0, sum);
        return;
    }
#endif
#endif
    const int rest = length & 3;
    for (int k = 0; k < length; k += 4) {
        const int ones = length - k >= 4 ? 0x01010101 : 0x01010101 & ((1 << 8 * rest) - 1);
        for (int v = 0; v < NV; ++v)
            sum[v] = dot_quads(sum[v], load_b_quads(b, k / 4, v), (vec_i)ones);
    }
}

// sum[i * NV + v] += row i of the group times column vector v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *sum,
                                                           __private vec_f *unused) {
    bytes src = group->src;
    __private const long *rows = group->rows->src + group->i0;
    const long k0 = group->k0;
#if LANES == 16
    if (HAS(FLAG_ALONG_K)) {
        // The next block of the tile or, at its end, the first one of the next tile.
        const long ahead = k0 + length < group->p->k ? length : TILE_N * b.plain->column - k0;
        multiply_along_k(count, false, src, rows, k0, b.wei, b.plain, b.first, b.columns, length, ahead, sum);
        return;
    }
#if TILE_N == 64
    if (multiplies_along_n()) {
        const long ahead = TILE_N; // the same rows of the next tile
        multiply_along_n(count, false, src, rows, k0, b.wei, b.plain, b.first, length, ahead, sum);
        return;
    }
#endif
#endif
    bytes a[ROWS];
#pragma unroll
    for (int i = 0; i < count; ++i)
        a[i] = src + rows[i] + k0;
    const int quads = length / 4;
#if LANES == 16 && TILE_N == 64
    if (multiplies_quarters())
        multiply_quarters(count, a, quads, b, sum);
#endif
#pragma unroll 1
    for (int k = 0; k < (multiplies_quarters() ? 0 : quads); ++k) {
        vec_i wei[NV];
#pragma unroll
        for (int v = 0; v < NV; ++v)
            wei[v] = load_b_quads(b, k, v);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int quad = ((global const int *)a[i])[k];
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[i * NV + v] = dot_quads(sum[i * NV + v], wei[v], (vec_i)quad);
        }
    }
    if (!HAS(FLAG_QUAD_TAIL) || length == 4 * quads)
        return;
    for (int i = 0; i < count; ++i) {
        bytes tail = a[i] + 4 * quads;
        int quad = tail[0];
        if (length > 4 * quads + 1)
            quad |= tail[1] << 8;
        if (length > 4 * quads + 2)
            quad |= tail[2] << 16;
        for (int v = 0; v < NV; ++v)
            sum[i * NV + v] = dot_quads(sum[i * NV + v], load_b_quads(b, quads, v), (vec_i)quad);
    }
}

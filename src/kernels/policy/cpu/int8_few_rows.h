// SPDX-License-Identifier: Apache-2.0
// Products of a few rows of bytes by packed 8-bit and 4-bit weights, for owner/work_item/few_rows.h.
//
// In memory, a word has four elements of K of a column as nibbles. Its two bytes without their high halves
// have the first and the third of them, and shifted, the second and the fourth. So for a single row no quads
// are made: a vector of words, of which two lie in each 32-bit element, is multiplied with those two bytes of
// src and zeros, in turn for the even and for the odd columns. The row is spread so that these can be loaded.
#pragma once

#include "policy/cpu/int8_block.h"

#if LANES == 16 && TILE_N == 64

#define FEW_ROWS true
#define KEPT_K TILE_K
#define AHEAD_K 256   // elements of K between what is multiplied and what is prefetched
#define SPREAD_K 1024 // elements of K whose words are kept
typedef int int_of_words __attribute__((aligned(2)));

struct few_rows {
    bytes src[ROWS];
    long spread_begin, spread_end, end; // elements of K
    __private panel_vec *panel;         // the quads of 4-bit weights, from the first rows to the last
    bool makes_panel, reads_panel;
    // For each quad s0..s3: 0, s0 | s2 << 8, 0, s1 | s3 << 8; then a 0.
    ushort words[SPREAD_K + 2];
};

static inline void open_rows(const int count, bytes src, global const struct matmul_problem *p,
                             __private const long *rows, long end, __private struct few_rows *r) {
#pragma unroll
    for (int i = 0; i < count; ++i)
        r->src[i] = src + rows[i];
    r->spread_end = 0;
    r->end = end;
}

static inline void open_panel(__private panel_vec *panel, int i0, int rows, __private struct few_rows *r) {
    r->panel = panel;
    r->makes_panel = wei_bits() == 4 && i0 == 0 && rows > ROWS;
    r->reads_panel = wei_bits() == 4 && i0 > 0;
}

// Spreads the only row from element k0 on.
static inline void spread_row(__private struct few_rows *r, long k0) {
    r->spread_begin = k0;
    r->spread_end = min(k0 + SPREAD_K, r->end);
    global const int *from = (global const int *)(r->src[0] + k0);
    __private int *to = (__private int *)r->words;
    const int quads = (int)(r->spread_end - k0) / 4;
    int q = 0;
#pragma unroll 1
    for (; q + 16 <= quads; q += 16) {
        const uint16 x = as_uint16(vload16(0, from + q));
        const int16 first = as_int16((x << 16 & 0xff0000) | (x << 8 & 0xff000000));
        const int16 second = as_int16((x << 8 & 0xff0000) | (x & 0xff000000));
        vstore16(LOWER_HALVES(first, second), 0, to + 2 * q);
        vstore16(UPPER_HALVES(first, second), 1, to + 2 * q);
    }
#pragma unroll 1
    for (; q < quads; ++q) {
        const uint x = (uint)from[q];
        to[2 * q] = (int)((x << 16 & 0xff0000) | (x << 8 & 0xff000000));
        to[2 * q + 1] = (int)((x << 8 & 0xff0000) | (x & 0xff000000));
    }
    r->words[4 * quads] = 0;
}

// sum[v] += the only row times column vector v, over `quads` quads. words: of the row.
static inline __attribute__((always_inline)) void multiply_nibbles(__private const ushort *words, bytes wei,
                                                                   int quads, __private vec_i *sum) {
    vec_i even[2][2], odd[2][2];
#pragma unroll
    for (int h = 0; h < 4; ++h)
        even[h / 2][h % 2] = odd[h / 2][h % 2] = (vec_i)0;
#pragma unroll 1
    for (int k = 0; k < quads; ++k) {
        vec_i src[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            src[j] = (vec_i)(*(__private const int_of_words *)(words + 4 * k + j));
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            bytes at = wei + k * 2 * PACKED_N + 64 * h;
            const vec_i x = vload16(0, (global const int *)at);
            prefetch_line(at + AHEAD_K * PACKED_N / 2);
            const vec_i low = to_domain(x & 0x0f0f0f0f);
            const vec_i high = to_domain(as_vec_i(as_uint16(x) >> 4) & 0x0f0f0f0f);
            odd[h][0] = dot_quads(odd[h][0], low, src[0]);
            even[h][0] = dot_quads(even[h][0], low, src[1]);
            odd[h][1] = dot_quads(odd[h][1], high, src[2]);
            even[h][1] = dot_quads(even[h][1], high, src[3]);
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const vec_i e = even[h][0] + even[h][1], o = odd[h][0] + odd[h][1];
        sum[2 * h] += LOWER_HALVES(e, o);
        sum[2 * h + 1] += UPPER_HALVES(e, o);
    }
}

// sum[i * NV + v] += row i times column vector v, over a block. wei: where its weights begin.
static inline __attribute__((always_inline)) void
multiply_few_rows(const int count, __private struct few_rows *r, bytes wei, const struct k_block *block,
                  __private const column_i *zero_points, __private column_f *scales, __private vec_i *sum,
                  __private vec_f *unused, __private int *correction) {
    const long k0 = block->k0;
    const int quads = block->length / 4;
    if (count == 1 && wei_bits() == 4) {
        if (k0 + block->length > r->spread_end)
            spread_row(r, k0);
        multiply_nibbles(r->words + (k0 - r->spread_begin), wei, quads, sum);
        return;
    }
#pragma unroll 1
    for (int k = 0; k < quads; ++k) {
        vec_i quad[NV];
        if (r->reads_panel) {
#pragma unroll
            for (int v = 0; v < NV; ++v)
                quad[v] = r->panel[v];
            r->panel += NV;
        } else {
#pragma unroll
            for (int v = 0; v < NV; ++v)
                quad[v] = load_packed_quads(wei, 4 * (k * PACKED_N + v * LANES));
#pragma unroll
            for (int i = 0; i < 4 * PACKED_N * wei_bits() / 8; i += 64)
                prefetch_line(wei + (4 * k + AHEAD_K) * PACKED_N * wei_bits() / 8 + i);
            if (r->makes_panel) {
#pragma unroll
                for (int v = 0; v < NV; ++v)
                    r->panel[v] = quad[v];
                r->panel += NV;
            }
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int src = ((global const int *)(r->src[i] + k0))[k];
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[i * NV + v] = dot_quads(sum[i * NV + v], quad[v], (vec_i)src);
        }
    }
}

#endif

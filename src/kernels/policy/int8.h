// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products: src as it is in memory, weights as a panel of quads (int8_panel.h), sums in
// s32. An ISA's header defines DOT(sum, unsigned_bytes, signed_bytes), its instruction, and
// includes this.
#pragma once

#include "policy/all_columns.h"
#include "policy/unlike_bytes.h"

#include "policy/int8_panel.h"
#include "policy/no_ahead.h"
#include "policy/prefetch.h"

static inline vec_i dot_quads(vec_i sum, vec_i wei, vec_i src) {
    return src_is_signed() ? DOT(sum, wei, src) : DOT(sum, src, wei);
}

#include "policy/int8_along_k.h"

#define ANY_ROW_COUNT 1
#define SUM_FACTOR 1.f
#define WEI_SHIFT wei_shift()
#define PANEL_VECTORS (TILE_K / 4 * NV)
typedef vec_i panel_vec;

// The weights of a block. A quad is four elements of K of a column. If wei_in_place(), quad k of
// the columns from n on begins at element first + 4 * (k * PACKED_N + n) of wei. Else it is
// panel[k * NV + n / LANES].
struct b_panel {
    bytes wei;
    long first; // of plain weights: the block's first element
    __private const vec_i *panel;
    tensor plain;
    int columns;
};

static inline vec_i load_b_quads(struct b_panel b, int k, int v) {
    return wei_in_place() ? load_packed_quads(b.wei, b.first + 4 * (k * PACKED_N + v * LANES))
                          : b.panel[k * NV + v];
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    struct b_panel b;
    b.wei = w->wei;
    b.first = w->begin + w->n0 / PACKED_N * p->wei_panel + w->n0 % PACKED_N * 4 + k0 * PACKED_N;
    b.panel = panel;
    b.plain = &p->wei;
    b.columns = w->columns;
    if (wei_in_place())
        return b;
    if (spec_wei_unit() == UNIT_PACKED)
        for (int k = 0; k < (length + 3) / 4; ++k)
            for (int v = 0; v < NV; ++v)
                panel[k * NV + v] = load_packed_quads(w->wei, b.first + 4 * (k * PACKED_N + v * LANES));
    else {
        b.first = w->begin + w->n0 * p->wei.column + k0 * p->wei.row;
        if (!HAS(FLAG_ALONG_K))
            pack_panel(w->wei, &p->wei, b.first, length, w->columns, (__private int *)panel);
    }
    return b;
}

// Prefetches the next group of rows of src: their pieces are too short for the hardware's
// prefetchers.
static inline void prefetch_a(bytes src, __private const long *rows, int count, long k0, int length) {
#pragma unroll 1
    for (int i = 0; i < count; ++i)
#pragma unroll 1
        for (int k = 0; k < length; k += 64)
            prefetch_line(src + rows[i] + k0 + k);
}

// Prefetches one of `parts` parts of the weights of the next block, which follows this one in
// memory.
static inline void prefetch_b(struct b_panel b, int length, int part, int parts) {
    const int line = wei_is_int4() ? 128 : 64; // elements in a cache line
    const int pieces = spec_wei_unit() == UNIT_PACKED ? length * PACKED_N / line
                       : spec_wei_unit() == UNIT_ROW  ? b.columns
                                                      : length;
    const int each = (pieces + parts - 1) / parts;
    const int end = min((part + 1) * each, pieces);
    for (int i = part * each; i < end; ++i)
        switch (spec_wei_unit()) {
        case UNIT_PACKED:
            if (parts > 3) // else it would delay the loads of this block
                prefetch_line(b.wei + ((b.first + length * PACKED_N) >> wei_is_int4()) + 64 * i);
            break;
        case UNIT_ROW:
            for (int k = length; k < 2 * length; k += line)
                prefetch_line(b.wei + ((b.first + i * b.plain->column + k) >> wei_is_int4()));
            break;
        case UNIT_COLUMN:
            prefetch_line(b.wei + ((b.first + (length + i) * b.plain->row) >> wei_is_int4()));
            break;
        }
}

// sum[v] += the sum of the panel's column vector v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#if LANES == 16
    if (HAS(FLAG_ALONG_K)) {
        multiply_along_k(1, 0, 0, 0, b.wei, b.plain, b.first, b.columns, length, sum);
        return;
    }
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
        multiply_along_k(count, src, rows, k0, b.wei, b.plain, b.first, b.columns, length, sum);
        return;
    }
#endif
    bytes a[ROWS];
#pragma unroll
    for (int i = 0; i < count; ++i)
        a[i] = src + rows[i] + k0;
    const int quads = length / 4;
#pragma unroll 1
    for (int k = 0; k < quads; ++k) {
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

// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, in plain OpenCL C vectors: any type and layout. Sums of integer products
// are exact: each product is at most 255 * 255, and at most 256 of them are added before the sum
// becomes s32, so it stays below 2^24.
#pragma once

#include "args/matmul_args.h"
#include "policy/shared/all_columns.h"
#ifndef WITH_TABLES
#include "policy/cpu/no_tables.h"
#endif
#include "policy/cpu/float_along_k.h"
#include "policy/cpu/float_panel.h"
#include "policy/cpu/float_src.h"
#include "policy/cpu/next_block.h"
#include "policy/shared/no_ahead.h"
#include "policy/shared/prefetch.h"
#include "problem/spec.h"
#ifdef WITH_F8_PAIRS
#include "policy/cpu/f8_pairs.h"
#endif

#if TILE_K > 256
#error "TILE_K: more than 256 products of 8-bit integers do not fit into the 24 bits of an f32"
#endif

#ifndef ANY_ROW_COUNT
#define ANY_ROW_COUNT 1
#endif
#define SUM_FACTOR 1.f
#define WEI_SHIFT 0
#define PANEL_VECTORS (TILE_K * NV)
typedef vec_f panel_vec;

// Whether an operand is multiplied from where it is in memory.
static inline bool src_in_place() {
    return spec_src_dt() == DT_F32 && spec_src_unit() == UNIT_COLUMN;
}
static inline bool wei_in_place() {
    return spec_wei_dt() == DT_F32 && spec_wei_unit() == UNIT_PACKED;
}
// Whether both are, and blocks are longer than a panel.
#ifdef BLOCK_IN_PLACE
#define OPERANDS_IN_PLACE (src_in_place() && wei_in_place() && !HAS(FLAG_INTEGER))
// Three and four rows of a tile read memory faster if hardware alone prefetches it, in short blocks.
#define READS_SHORT_BLOCKS(count) (HAS(FLAG_ONE_GROUP) && ((count) == 3 || (count) == 4))
#define WAITS_FOR_MEMORY(count)                                                                              \
    (wei_in_place() &&                                                                                       \
     ((count) <= 2 || (OPERANDS_IN_PLACE && HAS(FLAG_ONE_GROUP) && !READS_SHORT_BLOCKS(count))))
#define ROWS_AHEAD (OPERANDS_IN_PLACE ? 24 : 8)
#else
#define OPERANDS_IN_PLACE false
#define READS_SHORT_BLOCKS(count) false
#define WAITS_FOR_MEMORY(count) (wei_in_place() && count <= 2)
#define ROWS_AHEAD 8
#endif

// Whether float weights that lie along N, which are used only once here, are read from where they
// are.
static inline bool wei_in_rows() {
    return HAS(FLAG_ONE_GROUP) && !HAS(FLAG_INTEGER) && spec_wei_unit() == UNIT_COLUMN;
}

// Packed weights, whose block begins at element `packed`, as a panel of f32 by tables.
static inline void look_up_panel(bytes wei, long packed, int length, __private vec_f *panel) {
#pragma unroll 1
    for (int k = 0; k < length; k += 4)
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            vec_i words[2];
            look_up_quads(wei, packed + k * PACKED_N + v * LANES * 4, length - k, words);
            for (int j = 0; j < 4 && k + j < length; ++j)
                panel[(k + j) * NV + v] =
                    j % 2 == 0 ? first_of_words(words[j / 2]) : second_of_words(words[j / 2]);
        }
}

// Whether packed weights, which are used only once here, are converted in registers, without a
// panel.
static inline bool wei_in_registers() {
    return HAS(FLAG_ONE_GROUP) && !HAS(FLAG_INTEGER) && spec_wei_unit() == UNIT_PACKED && !wei_in_tables();
}

// The weights of a block. Row k of the columns from n on is panel[k * NV + n / LANES]. In memory they begin
// at element `first`. If packed ones are read from wei: a row begins at element first + k * PACKED_N, and one
// in quads at element first + (k & ~3) * PACKED_N, with the four of K of each column side by side.
struct b_panel {
    bytes wei;
    long first;
    __private const vec_f *panel;
    __private const vec_i *zero_points;
    tensor plain;
    int columns;
};

#if LANES > 1
static inline vec_i load_b_quads(struct b_panel b, int k, int v) {
    return load_packed(b.wei, b.first + k * PACKED_N + v * LANES * 4);
}

static inline void unpack_quads(struct b_panel b, int length, __private vec_f *panel) {
    for (int k = 0; k < length; k += 4)
        for (int v = 0; v < NV; ++v) {
            const vec_i quads = load_b_quads(b, k, v);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (k + j < length)
                    panel[(k + j) * NV + v] = values_of_quads(quads, j);
        }
}
#endif

static inline vec_f load_b_row(struct b_panel b, int k, int v) {
    if (wei_in_rows())
        return load_column_f(b.wei, spec_wei_dt(), b.first + k * b.plain->row + v * LANES);
    if (wei_in_place())
        return load_column_f(b.wei, DT_F32, b.first + k * PACKED_N + v * LANES);
    if (!wei_in_registers())
        return b.panel[k * NV + v];
#if LANES > 1
    if (wei_is_integer() && !HAS(FLAG_FLOAT_ZP)) {
        const vec_i row = of_quads(load_b_quads(b, k & ~3, v), k & 3);
        return to_vec_f(HAS(FLAG_WEI_ZP) ? row - b.zero_points[v] : row);
    }
#endif
    vec_f row;
#if LANES > 1
    if (wei_in_quads())
        row = values_of_quads(load_b_quads(b, k & ~3, v), k & 3);
    else
#endif
        row = load_column_f(b.wei, spec_wei_dt(), b.first + k * PACKED_N + v * LANES);
    return HAS(FLAG_WEI_ZP) ? row - zero_points_as_f32(b.zero_points[v]) : row;
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const struct b_panel b = {w->wei, block_begin(w, p, k0), panel, wei_zp, &p->wei, w->columns};
    if (wei_in_rows() || HAS(FLAG_ALONG_K) || wei_in_place() || wei_in_registers())
        return b;
#if LANES > 1
    if (spec_wei_unit() == UNIT_PACKED) {
        if (wei_in_tables())
            look_up_panel(w->wei, b.first, length, panel);
        else if (wei_in_quads())
            unpack_quads(b, length, panel);
        else
            for (int k = 0; k < length; ++k)
                for (int v = 0; v < NV; ++v)
                    panel[k * NV + v] =
                        load_column_f(w->wei, spec_wei_dt(), b.first + k * PACKED_N + v * LANES);
    } else
#endif
        load_columns(w->wei, &p->wei, w->begin + w->n0 * p->wei.column, k0, length, w->columns,
                     (__private float *)panel);
    if (!HAS(FLAG_INTEGER) && HAS(FLAG_WEI_ZP))
        for (int k = 0; k < length; ++k)
            for (int v = 0; v < NV; ++v)
                panel[k * NV + v] -= zero_points_as_f32(wei_zp[v]);
    return b;
}

// Prefetches one of `parts` parts of the weights of the next block; a part is for a group of rows. Weights
// that become a panel go into the L2 cache, because the L1 cache has the panel of this block. With few groups
// the loads of this block limit the speed: prefetches would delay them.
static inline void prefetch_b(struct b_panel b, int length, int part, int parts) {
    if (HAS(FLAG_ONE_GROUP) || (parts <= 3 && (wei_in_place() || spec_wei_unit() == UNIT_ROW)))
        return;
    if (OPERANDS_IN_PLACE) // the loop prefetches
        return;
    prefetch_next_block(b.wei, b.plain, b.first, b.columns, length, part, parts, wei_in_place() && parts > 8);
}

// Prefetches the next group of rows of src: their pieces are too short for the hardware's
// prefetchers.
static inline void prefetch_a(bytes src, __private const long *rows, int count, long k0, int length) {
    if (!src_in_place())
        return;
    if (OPERANDS_IN_PLACE && !READS_SHORT_BLOCKS(count)) // hardware prefetches longer ones
        return;
#pragma unroll 1
    for (int i = 0; i < count; ++i)
#pragma unroll 1
        for (int k = 0; k < length; k += 16)
            prefetch_line(src + (rows[i] + k0 + k) * 4);
}

// sum[v] += the sum of the panel's column vector v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
    for (int k = 0; k < length; ++k)
        for (int v = 0; v < NV; ++v)
            sum[v] += to_vec_i(b.panel[k * NV + v]);
}

// isum or fsum[i * NV + v] += row i of the group times column vector v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *isum,
                                                           __private vec_f *fsum) {
    bytes src = group->src;
    __private const long *rows = group->rows->src + group->i0;
    const long k0 = group->k0, stride = group->p->src.column;
#if LANES == 16
    if (HAS(FLAG_ALONG_K)) {
        multiply_along_k(count, src, rows, k0, b.wei, b.plain, b.first, b.columns, length, fsum);
        return;
    }
#endif
    float a[ROWS * TILE_K];
#ifdef WITH_F8_PAIRS
    if (wei_in_registers() && wei_is_f8() && !HAS(FLAG_WEI_ZP)) {
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            load_row_in_pairs(src, rows[i] + k0 * stride, stride, length, a + i * TILE_K);
        multiply_pairs(count, a, length, b.wei + b.first, fsum);
        return;
    }
#endif
    global const float *row[ROWS];
    vec_f sum[ROWS * NV];
    if (!src_in_place())
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            load_row(src, rows[i] + k0 * stride, stride, length, a + i * TILE_K);
#pragma unroll
    for (int i = 0; i < count; ++i) {
        row[i] = (global const float *)src + rows[i] + k0;
#pragma unroll
        for (int v = 0; v < NV; ++v)
            sum[i * NV + v] = HAS(FLAG_INTEGER) ? (vec_f)0.f : fsum[i * NV + v];
    }
#ifdef BLOCK_IN_PLACE
    // The part of the next block that the group prefetches.
    bytes next = b.wei + 4 * (b.first + length * PACKED_N) +
                 64 * (group->i0 * length / group->rows->count * (PACKED_N / 16));
#endif
#pragma unroll 1
    for (int k = 0; k < length; ++k) {
        vec_f wei[NV];
#ifdef BLOCK_IN_PLACE
        if (OPERANDS_IN_PLACE && !HAS(FLAG_ONE_GROUP))
            prefetch_line_l2(next + 64 * (PACKED_N / TILE_N) * k);
#endif
        // Few rows wait for memory. Hardware stops prefetching at the end of a page of 4 KiB; this goes on.
        if (WAITS_FOR_MEMORY(count))
#pragma unroll
            for (int line = 0; line < TILE_N / 16; ++line)
                prefetch_line(b.wei + 4 * (b.first + (k + ROWS_AHEAD) * PACKED_N + 16 * line));
#pragma unroll
        for (int v = 0; v < NV; ++v)
            wei[v] = load_b_row(b, k, v);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float value = src_in_place() ? row[i][k] : a[i * TILE_K + k];
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[i * NV + v] = fma((vec_f)value, wei[v], sum[i * NV + v]);
        }
    }
#pragma unroll
    for (int i = 0; i < count * NV; ++i) {
        if (HAS(FLAG_INTEGER))
            isum[i] += to_vec_i(sum[i]);
        else
            fsum[i] = sum[i];
    }
}

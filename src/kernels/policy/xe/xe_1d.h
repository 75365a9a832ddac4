// SPDX-License-Identifier: Apache-2.0
// Loads of src and weights for DPAS by 1-D block loads (cl_intel_subgroups), in sub-groups of 8. It defines
// the functions that xe_2d.h lists.
#pragma once

#include "owner/sub_group.h"
#include "policy/shared/no_ahead.h"
#include "policy/xe/xe_steps.h"
#include "problem/tensor.h"

#if LANES != 8
#error "a DPAS of GPUs without 2-D block loads has 8 lanes"
#endif

uint __attribute__((overloadable)) intel_sub_group_block_read(const global uint *at);
uint2 __attribute__((overloadable)) intel_sub_group_block_read2(const global uint *at);

// A load of src is 32 bytes along K of eight rows, four bytes a lane. Nothing is read behind the end of a
// row, because that could be outside of the tensor: in a block that K does not fill, each lane reads only
// what there is. Rows past the end repeat the last one.

// One word of each of eight rows, as a vector.
static inline uint8 eight_rows(__private const uint *w) {
    return (uint8)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
}

// a[s]: step s of rows i0 .. i0 + 7 of the tile, in the block from element k0 of K on.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private a_rows *a) {
    const int size = src_bytes(), lane = get_sub_group_local_id();
    if (spec_src_load() != SRC_LOAD_1D) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, rows->first + i0, (int)k0 + s * STEP_K);
        return;
    }
    const bool whole = HAS(FLAG_ARRANGED) || is_whole(p, k0, spec_panel_k());
    const int left = (int)(p->k - k0) * size - lane * 4; // bytes of a row from this lane's word on
    uint words[STEPS][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        // Block loads need an address that is the same in all lanes.
        const uint row = sub_group_broadcast(rows->at[i0 / LANES], i);
        global const uint *at = (global const uint *)(src + (row + (uint)k0 * size));
#pragma unroll
        for (int s = 0; s < STEPS; s += 2)
            if (!whole) {
                words[s][i] = has_step(s) && s * STEP_BYTES < left ? at[s * LANES + lane] : 0;
                if (has_step(s + 1))
                    words[s + 1][i] = (s + 1) * STEP_BYTES < left ? at[(s + 1) * LANES + lane] : 0;
            } else if (has_step(s + 1)) {
                const uint2 two = intel_sub_group_block_read2(at + s * LANES);
                words[s][i] = two.s0;
                words[s + 1][i] = two.s1;
            } else if (has_step(s)) {
                words[s][i] = intel_sub_group_block_read(at + s * LANES);
            }
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        a[s] = eight_rows(words[s]);
}

// The weights of a tile. Each lane gets its columns, with elements of K side by side in ints. Packed weights
// are read in whole rows of the tile: four elements of K a row for integers, one for halves and f32. Weights
// of 2 bits are one register a row: columns share ints.
struct wei_source {
    bytes wei;
    uint panel;        // byte offset of the tile's columns in their packed panel
    int height;        // rows of the panel that have elements of K
    long begin, first; // element offset of the batch's matrix; the tile's first column
};

// n0: this lane's first column.
static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    struct wei_source w;
    w.wei = wei;
    w.begin = begin;
    w.first = sub_group_broadcast(n0, 0);
    const long panel = begin + w.first / PACKED_N * p->wei_panel + w.first % PACKED_N * packed_row_length();
    w.panel = sub_group_broadcast((uint)(panel * wei_bits() / 8), 0);
    w.height = packed_rows(p);
    return w;
}

#if TILE_N == 32
#define COLUMNS_OF(type) type##4
#define READ_ROW(suffix, at) intel_sub_group_block_read##suffix##4(at)
#elif TILE_N == 16
#define COLUMNS_OF(type) type##2
#define READ_ROW(suffix, at) intel_sub_group_block_read##suffix##2(at)
#else
#error "there are block loads for 16 and 32 columns"
#endif
COLUMNS_OF(uint) __attribute__((overloadable)) READ_ROW(, const global uint *at);
COLUMNS_OF(ushort) __attribute__((overloadable)) READ_ROW(_us, const global ushort *at);
ushort __attribute__((overloadable)) intel_sub_group_block_read_us(const global ushort *at);

// step[v]: eight rows of the packed panel from `row` on, for the lane's column v. Rows behind the
// last one that has elements of K are 0.
#define DEFINE_READ_ROWS(name, type, suffix, step_type)                                                      \
    static inline void name(const struct wei_source *w, int row, __private step_type *step) {                \
        const uint pitch = PACKED_N * sizeof(type);                                                          \
        type words[8][NV];                                                                                   \
        _Pragma("unroll") for (int j = 0; j < 8; ++j) {                                                      \
            const bool there = !HAS(FLAG_PANEL_TAIL) || row + j < w->height;                                 \
            const uint begin = w->panel + (there ? (uint)row * pitch : 0);                                   \
            union {                                                                                          \
                COLUMNS_OF(type) all;                                                                        \
                type each[NV];                                                                               \
            } read;                                                                                          \
            read.all = READ_ROW(suffix, (global const type *)(w->wei + begin) + (there ? j * PACKED_N : 0)); \
            _Pragma("unroll") for (int v = 0; v < NV; ++v) words[j][v] = there ? read.each[v] : 0;           \
        }                                                                                                    \
        _Pragma("unroll") for (int v = 0; v < NV; ++v) step[v] =                                             \
            as_##step_type((type##8)(words[0][v], words[1][v], words[2][v], words[3][v], words[4][v],        \
                                     words[5][v], words[6][v], words[7][v]));                                \
    }
DEFINE_READ_ROWS(read_ints, uint, , int8)
DEFINE_READ_ROWS(read_pairs, ushort, _us, int4)

// A row of packed 2-bit weights, of the tile's columns: an int a lane, or half an int.
static inline uint read_row_of_quarters(bytes row) {
#if TILE_N == 32
    return intel_sub_group_block_read((global const uint *)row);
#else
    return intel_sub_group_block_read_us((global const ushort *)row);
#endif
}

// Gives the lower half of the lanes the value of lane `first`, the upper half that of lane `second`. All
// lanes broadcast both.
static inline uint of_half(uint x, int first, int second) {
    const uint low = sub_group_broadcast(x, first), high = sub_group_broadcast(x, second);
    return get_sub_group_local_id() < LANES / 2 ? low : high;
}

// The int with this lane's column v.
static inline uint int_of_column(uint row, int v) {
#if TILE_N == 32
    return of_half(row, 2 * v, 2 * v + 1);
#else
    return of_half(row, 4 * v, 4 * v + 2) | of_half(row, 4 * v + 1, 4 * v + 3) << 16;
#endif
}

// Reads 2-bit weights as bytes.
static inline void read_quarters(const struct wei_source *w, int row, __private int8 *step) {
    uint words[NV][8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const bool there = !HAS(FLAG_PANEL_TAIL) || row + j < w->height;
        const uint begin = w->panel + (there ? (uint)(row + j) * QUARTERS_ROW * 4 : 0);
        const uint quarters = read_row_of_quarters(w->wei + begin), read = there ? quarters : 0;
#pragma unroll
        for (int v = 0; v < NV; ++v)
            words[v][j] = bytes_of_quarters(int_of_column(read, v), get_sub_group_local_id());
    }
#pragma unroll
    for (int v = 0; v < NV; ++v)
        step[v] = as_int8(vload8(0, words[v]));
}

// step[v]: a step of the lane's column v, from element k on.
static inline void read_step(const struct wei_source *w, global const struct matmul_problem *p, int k,
                             __private int8 *step) {
    if (spec_wei_unit() != UNIT_PACKED) {
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            const long column = min(w->first + v * LANES + (int)get_sub_group_local_id(), p->n - 1);
            step[v] = gather_column(w->wei, p, w->begin + column * p->wei.column, k);
        }
    } else if (wei_bits() == 2) {
        read_quarters(w, k >> 2, step);
    } else if (wei_bits() == 8 || wei_bits() == 32) {
        read_ints(w, wei_bits() == 8 ? k >> 2 : k, step);
    } else {
        int4 low[NV], high[NV];
        const int row = wei_bits() == 16 ? k : k >> 2;
        read_pairs(w, row, low);
        if (wei_bits() == 16)
            read_pairs(w, row + 8, high);
#pragma unroll
        for (int v = 0; v < NV; ++v)
            step[v] = wei_bits() == 16 ? (int8)(low[v], high[v]) : (int8)(low[v], (int4)0);
    }
}

// Reads two steps of all columns; the second only if `both`.
static inline void read_steps(const struct wei_source *w, global const struct matmul_problem *p, int k,
                              bool both, __private int8 *first, __private int8 *second) {
    read_step(w, p, k, first);
    if (both)
        read_step(w, p, k + wei_step(), second);
}

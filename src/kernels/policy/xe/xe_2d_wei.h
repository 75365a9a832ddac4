// SPDX-License-Identifier: Apache-2.0
// Loads weights for DPAS by 2-D block loads: each lane gets its column, with elements of K side by
// side in ints.
#pragma once

#include "policy/xe/xe_2d.h"
#include "policy/xe/xe_steps.h"

// The weights of a tile as a matrix. Of packed weights it is the panel of 64 columns: a row has
// four elements of K for types of at most 8 bits, one for others, and 2-D block loads count in columns.
struct wei_source {
    struct surface matrix;
    // The x coordinate for 2-D block loads of the tile's first column (packed, tag ab) or of the
    // first element of K (tag ba).
    int x;
    long begin, first; // element offset of the batch's matrix; the tile's first column
    bytes wei;
};

// n0: this lane's first column.
static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    const int bits = wei_bits();
    struct wei_source w;
    w.wei = wei;
    w.begin = begin;
    w.first = sub_group_broadcast(n0, 0);
    if (spec_wei_unit() == UNIT_PACKED) {
        const int pitch = PACKED_N * packed_row_length() * bits / 8;
        w.matrix = make_surface(wei + (begin + w.first / PACKED_N * p->wei_panel) * bits / 8, pitch,
                                packed_rows(p), pitch);
        w.x = w.matrix.x0 * PACKED_N / pitch + (int)(w.first % PACKED_N);
    } else if (spec_wei_unit() == UNIT_COLUMN) {
        w.matrix = make_surface(wei + begin * bits / 8, p->n * bits / 8, p->k, p->wei.row * bits / 8);
        w.x = w.matrix.x0 * 8 / bits + (int)w.first;
    } else {
        w.matrix = make_surface(wei + begin * bits / 8, p->k * bits / 8, p->n, p->wei.column * bits / 8);
        w.x = w.matrix.x0 / 4;
    }
    return w;
}

// Eight rows from `row` on of this lane's column, which is column n of the tile for lane 0: packed
// 8-bit weights, four of K in each int, or f32. It uses ordinary loads, because compilers with only
// some shapes of 2-D block loads have none for whole ints. Rows behind the last one are 0.
static inline int8 read_ints(const struct wei_source *w, int n, int row) {
    const bool packed = spec_wei_unit() == UNIT_PACKED;
    const int x = w->x + n + (int)get_sub_group_local_id();
    global const int *column =
        (global const int *)w->matrix.base + (packed ? x : min(x, w->matrix.width / 4 - 1));
    const int pitch = packed ? PACKED_N : w->matrix.pitch / 4;
    column += (long)row * pitch;
    int words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const bool there = !HAS(FLAG_PANEL_TAIL) || row + i < w->matrix.height;
        words[i] = there ? column[i * pitch] : 0;
    }
    return vload8(0, words);
}

// The same of packed 2-bit weights, as bytes.
static inline int8 read_quarters(const struct wei_source *w, int n, int row) {
    const int x = w->x + n + (int)get_sub_group_local_id();
    global const uint *at = (global const uint *)w->matrix.base + (long)row * QUARTERS_ROW + x / 4;
    uint words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const bool there = !HAS(FLAG_PANEL_TAIL) || row + i < w->matrix.height;
        words[i] = bytes_of_quarters(there ? at[i * QUARTERS_ROW] : 0, x);
    }
    return as_int8(vload8(0, words));
}

// Reads two steps, the second only if `both`, of the LANES columns from column n of the tile on,
// from element k on. n is the same in all lanes.
static inline void read_columns(const struct wei_source *w, global const struct matmul_problem *p, int n,
                                int k, bool both, __private int8 *first, __private int8 *second) {
    const struct surface m = w->matrix;
    const int bits = wei_bits(), step = wei_step(), x = w->x + n;
    if (spec_wei_unit() == UNIT_PACKED && bits == 8) {
        *first = read_ints(w, n, k / 4);
        if (both)
            *second = read_ints(w, n, (k + step) / 4);
    } else if (spec_wei_unit() == UNIT_PACKED && bits == 2) {
        *first = read_quarters(w, n, k / 4);
        if (both)
            *second = read_quarters(w, n, (k + step) / 4);
    } else if (spec_wei_unit() == UNIT_PACKED && bits == 4) {
        // A row of 16-bit units has four nibbles a column; two rows make an int of eight of K.
        const int8 two = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k / 4)));
        *first = (int8)(two.lo, (int4)0);
        if (both)
            *second = (int8)(two.hi, (int4)0);
    } else if (spec_wei_unit() != UNIT_PACKED && !HAS(FLAG_WEI_2D)) {
        const long column = min(w->first + n + (int)get_sub_group_local_id(), p->n - 1);
        *first = gather_column(w->wei, p, w->begin + column * p->wei.column, k);
        if (both)
            *second = gather_column(w->wei, p, w->begin + column * p->wei.column, k + step);
    } else if (spec_wei_unit() == UNIT_ROW) {
        // Columns are contiguous along K: each lane reads ints of K from one row of the matrix.
        const int2 at = (int2)(w->x + k * bits / 32, (int)w->first + n);
        const int8 read = as_int8(READ_2D(transpose_u32_k8, m, at));
        *first = bits == 4 ? (int8)(read.lo, (int4)0) : read;
        if (both)
            *second = bits == 4 ? (int8)(read.hi, (int4)0)
                                : as_int8(READ_2D(transpose_u32_k8, m, at + (int2)(8, 0)));
    } else if (bits == 32) {
        *first = read_ints(w, n, k);
        if (both)
            *second = read_ints(w, n, k + step);
    } else if (bits == 8) {
        *first = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k)));
        if (both)
            *second = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k + step)));
    } else {
        *first = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k)));
        if (both)
            *second = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k + step)));
    }
}

// Reads two steps of all columns: first[v], second[v].
static inline void read_steps(const struct wei_source *w, global const struct matmul_problem *p, int k,
                              bool both, __private int8 *first, __private int8 *second) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        read_columns(w, p, v * LANES, k, both, &first[v], &second[v]);
}

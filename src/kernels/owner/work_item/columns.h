// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of the weights for a tile's columns. Contiguous ones are loaded a vector
// at a time.
#pragma once

#include "owner/work_item/vectors.h"
#include "parameters.h"

// Loads LANES contiguous elements of an integer tensor, from element i on. For 4-bit types i is
// even.
static inline column_i load_column_i(bytes p, int data_type, long i) {
    if (data_type == DT_S32)
        return load_column_s32((global const int *)p + i);
    return to_column_i(load_column_f(p, data_type, i));
}

// Whether the values of the tile's columns, from element `offset` on, can be loaded a vector at a
// time.
static inline bool columns_are_vectors(tensor t, int data_type, long offset, int columns) {
    const bool nibble = type_bits(data_type) == 4 && (offset & 1) != 0;
    return t->column == 1 && t->column_group == 1 && columns == TILE_N && !nibble;
}

// Where scales or zero points lie for the tile's columns. n0: the first column.
struct column_source {
    long begin, n0; // begin: element offset of the batch's matrix
    int columns;
};

static inline struct column_source find_columns(global const struct matmul_problem *p, tensor t,
                                                const struct row_index *r, long n0, int columns) {
    return (struct column_source){batch_offset(p, t, r), n0, columns};
}

// scale[v]: for vector v of columns. row: element offset of a group of K.
static inline void load_column_scales(__private column_f *scale, ulong address, tensor t, int data_type,
                                      float host, const struct column_source *from, long row) {
    const long begin = from->begin + row;
    if (data_type == 0 || t->column == 0) {
        for (int v = 0; v < NV; ++v)
            scale[v] = (column_f)load_scale(address, data_type, host, begin);
    } else if (columns_are_vectors(t, data_type, begin + from->n0, from->columns)) {
        for (int v = 0; v < NV; ++v)
            scale[v] = load_column_f((bytes)address, data_type, begin + from->n0 + v * LANES);
    } else {
        for (int n = 0; n < TILE_N; ++n)
            ((__private float *)scale)[n] = load_scale(
                address, data_type, host, begin + parameter_offset(t, from->n0 + min(n, from->columns - 1)));
    }
}

static inline void load_column_zero_points(__private column_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, const struct column_source *from,
                                           long row) {
    const long begin = from->begin + row;
    if (data_type == 0 || t->column == 0) {
        for (int v = 0; v < NV; ++v)
            zero_point[v] = (column_i)load_zero_point(address, data_type, host, begin);
    } else if (columns_are_vectors(t, data_type, begin + from->n0, from->columns)) {
        for (int v = 0; v < NV; ++v)
            zero_point[v] = load_column_i((bytes)address, data_type, begin + from->n0 + v * LANES);
    } else {
        for (int n = 0; n < TILE_N; ++n)
            ((__private int *)zero_point)[n] = load_zero_point(
                address, data_type, host, begin + parameter_offset(t, from->n0 + min(n, from->columns - 1)));
    }
}

// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of a tile. data_type 0 stands for a host scalar.
#pragma once

#include "lanes.h"
#include "tensor.h"

static inline float load_scale(ulong address, int data_type, float host, long offset) {
    return data_type == 0 ? host : load_float((bytes)address, data_type, offset);
}

static inline int load_zero_point(ulong address, int data_type, int host, long offset) {
    return data_type == 0 ? host : load_int((bytes)address, data_type, offset);
}

// Without the division for each column, where columns have no groups.
static inline long parameter_offset(tensor t, long column) {
    return t->column_group == 1 ? column * t->column : column_offset(t, column);
}

#if WORK_ITEMS == 1
// Whether the values of the tile's columns, from offset on, can be loaded a vector at a time.
static inline bool columns_are_vectors(tensor t, int data_type, long offset, int columns) {
    const bool nibble = type_bits(data_type) == 4 && (offset & 1) != 0;
    return t->column == 1 && t->column_group == 1 && columns == TILE_N && !nibble;
}

// Where a parameter of the weights lies for the tile's columns, the first at n0.
struct column_source {
    long begin, n0; // of the batch's matrix
    int columns;
};

static inline struct column_source find_columns(global const struct matmul_problem *p, tensor t,
                                                const struct row_index *r, long n0, int columns) {
    return (struct column_source){batch_offset(p, t, r), n0, columns};
}

// scale[v]: of the vector v of columns; row: the offset of a row of the parameter.
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
#else
// Where a parameter of the weights lies for each of the work-item's columns.
struct column_source {
    parameter_index at[NV];
};

static inline struct column_source find_columns(global const struct matmul_problem *p, tensor t,
                                                const struct row_index *r, long n0, int columns) {
    const long begin = batch_offset(p, t, r);
    struct column_source from;
#pragma unroll
    for (int v = 0; v < NV; ++v)
        from.at[v] = (uint)(begin + parameter_offset(t, min(n0 + v * LANES, p->n - 1)));
    return from;
}

static inline void load_column_scales(__private column_f *scale, ulong address, tensor t, int data_type,
                                      float host, const struct column_source *from, parameter_index row) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        scale[v] = load_scale(address, data_type, host, from->at[v] + row);
}

static inline void load_column_zero_points(__private column_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, const struct column_source *from,
                                           parameter_index row) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        zero_point[v] = load_zero_point(address, data_type, host, from->at[v] + row);
}
#endif

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

// Whether the values of the tile's columns, from offset on, can be loaded as vectors.
static inline bool columns_are_vectors(tensor t, int data_type, long offset, int columns) {
    const bool nibble = (data_type == DT_S4 || data_type == DT_U4) && (offset & 1) != 0;
    return t->column == 1 && t->column_group == 1 && columns == TILE_N && !nibble;
}

// Without the division for each column, where columns have no groups.
static inline long parameter_offset(tensor t, long column) {
    return t->column_group == 1 ? column * t->column : column_offset(t, column);
}

// scale[v]: of the columns n0.. of a weights tensor; begin: the offset of its row (and batch).
static inline void load_column_scales(__private vec_f *scale, ulong address, tensor t, int data_type,
                                      float host, long begin, long n0, int columns) {
    if (data_type == 0 || t->column == 0) {
        for (int v = 0; v < NV; ++v)
            scale[v] = (vec_f)load_scale(address, data_type, host, begin);
    } else if (columns_are_vectors(t, data_type, begin + n0, columns)) {
        for (int v = 0; v < NV; ++v)
            scale[v] = load_vec_f((bytes)address, data_type, begin + n0 + v * LANES);
    } else {
        for (int n = 0; n < TILE_N; ++n)
            ((__private float *)scale)[n] =
                load_scale(address, data_type, host, begin + parameter_offset(t, n0 + min(n, columns - 1)));
    }
}

static inline void load_column_zero_points(__private vec_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, long begin, long n0, int columns) {
    if (data_type == 0 || t->column == 0) {
        for (int v = 0; v < NV; ++v)
            zero_point[v] = (vec_i)load_zero_point(address, data_type, host, begin);
    } else if (columns_are_vectors(t, data_type, begin + n0, columns)) {
        for (int v = 0; v < NV; ++v)
            zero_point[v] = load_vec_i((bytes)address, data_type, begin + n0 + v * LANES);
    } else {
        for (int n = 0; n < TILE_N; ++n)
            ((__private int *)zero_point)[n] = load_zero_point(
                address, data_type, host, begin + parameter_offset(t, n0 + min(n, columns - 1)));
    }
}

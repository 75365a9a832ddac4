// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor of any type and layout, in private memory as f32. The type is looked at when the
// kernel runs. These functions are not inlined: inlined into each of their callers, with a loop for
// each type, they would take more compile time than the products.
#pragma once

#include "owner/work_item/vectors.h"
#include "parameters.h"

static __attribute__((noinline)) float load_element(bytes from, int data_type, long i) {
    return load_float(from, data_type, i);
}
static __attribute__((noinline)) void store_element(global uchar *to, int data_type, long i, float x) {
    store_float(to, data_type, i, x);
}

// Types with vector loads and stores here. Elements of the others are loaded and stored one by one.
static inline bool has_vectors(int data_type) {
    switch (data_type) {
    case DT_F32:
    case DT_F16:
    case DT_BF16:
    case DT_S32:
    case DT_S8:
    case DT_U8:
        return LANES > 1;
    }
    return false;
}

static inline column_f load_vector(bytes from, int data_type, long i) {
    switch (data_type) {
    case DT_F16:
        return load_column_f(from, DT_F16, i);
    case DT_BF16:
        return load_column_f(from, DT_BF16, i);
    case DT_S32:
        return load_column_f(from, DT_S32, i);
    case DT_S8:
        return load_column_f(from, DT_S8, i);
    case DT_U8:
        return load_column_f(from, DT_U8, i);
    }
    return load_column_f(from, DT_F32, i);
}

static inline void store_vector(global uchar *to, int data_type, long i, column_f x) {
    switch (data_type) {
    case DT_F16:
        store_column_f(to, DT_F16, i, x);
        break;
    case DT_BF16:
        store_column_f(to, DT_BF16, i, x);
        break;
    case DT_S32:
        store_column_f(to, DT_S32, i, x);
        break;
    case DT_S8:
        store_column_f(to, DT_S8, i, x);
        break;
    case DT_U8:
        store_column_f(to, DT_U8, i, x);
        break;
    default:
        store_column_f(to, DT_F32, i, x);
    }
}

// to[n]: column n0 + n of a row, for the tile's columns; 0 for those behind them, or the same as the
// others if the tensor is broadcast. row: the element offset where the row begins in the tensor.
static __attribute__((noinline)) void load_elements(bytes from, tensor t, int data_type, long row, long n0,
                                                    int columns, __private column_f *to) {
    const float x = t->column == 0 ? load_element(from, data_type, row) : 0.f;
#pragma unroll 1
    for (int v = 0; v < NV; ++v)
        to[v] = (column_f)x;
    if (t->column == 0)
        return;
    const bool vectors = has_vectors(data_type) && t->column == 1 && t->column_group == 1;
    // One loop for vectors and for the elements behind the last vector compiles faster than two.
#pragma unroll 1
    for (int n = 0; n < columns;) {
        if (vectors && n + LANES <= columns) {
            to[n / LANES] = load_vector(from, data_type, row + n0 + n);
            n += LANES;
        } else {
            ((__private float *)to)[n] = load_element(from, data_type, row + parameter_offset(t, n0 + n));
            ++n;
        }
    }
}

// Stores the tile's columns of a row of dst.
static __attribute__((noinline)) void store_elements(global uchar *dst, tensor t, long row, long n0,
                                                     int columns, __private const column_f *x) {
    const int data_type = t->data_type;
    const bool vectors = has_vectors(data_type) && t->column == 1;
#pragma unroll 1
    for (int n = 0; n < columns;) {
        if (vectors && n + LANES <= columns) {
            store_vector(dst, data_type, row + n0 + n, x[n / LANES]);
            n += LANES;
        } else {
            store_element(dst, data_type, row + (n0 + n) * t->column, ((__private const float *)x)[n]);
            ++n;
        }
    }
}

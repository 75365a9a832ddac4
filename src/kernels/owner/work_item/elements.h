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
    if (data_type == DT_F4_E2M1) // the byte may belong to two tiles
        store_shared_nibble(to, i, (int)to_f4_e2m1(x));
    else
        store_float(to, data_type, i, x);
}

// to[n]: column n0 + n of a row, for the tile's columns; 0 for those behind them. row: the element
// offset where the row begins in the tensor.
static __attribute__((noinline)) void load_elements(bytes from, tensor t, int data_type, long row, long n0,
                                                    int columns, __private column_f *to) {
    __private float *elements = (__private float *)to;
    int n = 0;
    if (t->column == 0) {
        const float x = load_element(from, data_type, row);
#pragma unroll 1
        for (int v = 0; v < NV; ++v)
            to[v] = (column_f)x;
        return;
    }
#if LANES > 1
    if (t->column == 1 && t->column_group == 1 && is_whole_byte(data_type, row + n0))
#pragma unroll 1
        for (; n + LANES <= columns; n += LANES)
            to[n / LANES] = load_column_f(from, data_type, row + n0 + n);
#endif
#pragma unroll 1
    for (; n < columns; ++n)
        elements[n] = load_element(from, data_type, row + parameter_offset(t, n0 + n));
#pragma unroll 1
    for (; n < TILE_N; ++n)
        elements[n] = 0.f;
}

// Stores the tile's columns of a row of dst.
static __attribute__((noinline)) void store_elements(global uchar *dst, tensor t, long row, long n0,
                                                     int columns, __private const column_f *x) {
    __private const float *elements = (__private const float *)x;
    const int data_type = t->data_type;
    int n = 0;
#if LANES > 1
    if (t->column == 1 && is_whole_byte(data_type, row + n0))
#pragma unroll 1
        for (; n + LANES <= columns; n += LANES)
            store_column_f(dst, data_type, row + n0 + n, x[n / LANES]);
#endif
#pragma unroll 1
    for (; n < columns; ++n)
        store_element(dst, data_type, row + (n0 + n) * t->column, elements[n]);
}

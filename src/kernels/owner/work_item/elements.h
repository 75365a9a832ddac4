// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor of any type and layout, in private memory as f32. The type is looked at when the
// kernel runs. These functions are not inlined: inlined into each of their callers, with a loop for
// each type, they would take more compile time than the products.
#pragma once

#include "owner/work_item/vectors.h"
#include "problem/parameters.h"

static __attribute__((noinline)) float load_element(bytes from, int data_type, long i) {
    return load_float(from, data_type, i);
}
static __attribute__((noinline)) void store_element(global uchar *to, int data_type, long i, float x) {
    if (data_type == DT_F4_E2M1) // the byte may belong to two tiles
        store_shared_narrow(to, 4, i, (int)to_f4_e2m1(x));
    else
        store_float(to, data_type, i, x);
}

// f8 has vectors for stores only. Other small floats are loaded and stored one by one, as conversions of
// vectors would take a tenth of the compile time of a module.
#define WITHOUT_SMALL_FLOATS
static inline bool has_vectors(int data_type) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...) case DT_##NAME:
#include "lists/types.def"
        return LANES > 1;
    }
    return false;
}

static inline column_f load_vector(bytes from, int data_type, long i) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...)                                                                           \
    case DT_##NAME:                                                                                          \
        return load_column_f(from, DT_##NAME, i);
#include "lists/types.def"
    }
    return (column_f)0.f;
}

static inline void store_vector(global uchar *to, int data_type, long i, column_f x) {
    switch (data_type) {
#define CASE_no(...)
#define CASE_yes(NAME, number)                                                                               \
    case DT_##NAME:                                                                                          \
        store_column_f(to, DT_##NAME, i, x);                                                                 \
        break;
#define ZEMM_USES(name, NAME, src, weights, dst, ...) CASE_##dst(NAME, number)
#include "lists/types.def"
#undef CASE_no
#undef CASE_yes
    }
}
#undef WITHOUT_SMALL_FLOATS

#if LANES > 1
// Two constants: the compiler drops the code of all other types.
static __attribute__((noinline)) void store_f8_vector(global uchar *to, int data_type, long i, column_f x) {
    store_column_f(to, data_type == DT_F8_E5M2 ? DT_F8_E5M2 : DT_F8_E4M3, i, x);
}
#else
static inline void store_f8_vector(global uchar *to, int data_type, long i, column_f x) {}
#endif

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
    const bool vectors = has_vectors(data_type) && t->column == 1 && t->column_group == 1 &&
                         is_whole_byte(data_type, row + n0);
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

#if LANES > 1
// Stores all columns of the tile as one of the types that most dst have. One function for all types would
// load their constants for each row, which takes longer than the stores.
static __attribute__((noinline)) void store_whole_row(global uchar *to, int data_type, long i,
                                                      __private const column_f *x) {
    if (data_type == DT_F16)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            store_column_f(to, DT_F16, i + v * LANES, x[v]);
    else
#pragma unroll
        for (int v = 0; v < NV; ++v)
            store_column_f(to, DT_F32, i + v * LANES, x[v]);
}
#endif

// Stores the tile's columns of a row of dst.
static __attribute__((noinline)) void store_elements(global uchar *dst, tensor t, long row, long n0,
                                                     int columns, __private const column_f *x) {
    const int data_type = t->data_type;
    const bool is_f8 = LANES > 1 && (data_type == DT_F8_E5M2 || data_type == DT_F8_E4M3);
    const bool vectors = (is_f8 || has_vectors(data_type)) && t->column == 1;
#pragma unroll 1
    for (int n = 0; n < columns;) {
        if (vectors && n + LANES <= columns) {
            if (is_f8)
                store_f8_vector(dst, data_type, row + n0 + n, x[n / LANES]);
            else
                store_vector(dst, data_type, row + n0 + n, x[n / LANES]);
            n += LANES;
        } else {
            store_element(dst, data_type, row + (n0 + n) * t->column, ((__private const float *)x)[n]);
            ++n;
        }
    }
}

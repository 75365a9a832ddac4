// SPDX-License-Identifier: Apache-2.0
// Loads and stores of single elements in reorders. Arithmetic is in `real`: f32, or f64 in kernels for
// tensors of f64 (WITH_F64).
#pragma once

#include "reorder/reorder_spec.h"

static inline void copy_element(bytes src, long from, global uchar *dst, long to) {
    switch (spec_bits()) {
    case 2:
    case 4:
        store_narrow(dst, spec_bits(), to, load_narrow(src, spec_bits(), from));
        break;
    case 8:
        dst[to] = src[from];
        break;
    case 16:
        ((global ushort *)dst)[to] = ((global const ushort *)src)[from];
        break;
    case 32:
        ((global uint *)dst)[to] = ((global const uint *)src)[from];
        break;
    case 64:
        ((global ulong *)dst)[to] = ((global const ulong *)src)[from];
        break;
    }
}

// Stores of integers x, saturated.
static inline void store_int_s32(global uchar *dst, long to, long x) {
    ((global int *)dst)[to] = convert_int_sat(x);
}
static inline void store_int_s8(global uchar *dst, long to, long x) {
    ((global char *)dst)[to] = convert_char_sat(x);
}
static inline void store_int_u8(global uchar *dst, long to, long x) {
    dst[to] = convert_uchar_sat(x);
}
static inline void store_int_s4(global uchar *dst, long to, long x) {
    store_narrow(dst, 4, to, (int)clamp(x, -8l, 7l));
}
static inline void store_int_u4(global uchar *dst, long to, long x) {
    store_narrow(dst, 4, to, (int)clamp(x, 0l, 15l));
}
static inline void store_int_u2(global uchar *dst, long to, long x) {
    store_narrow(dst, 2, to, (int)clamp(x, 0l, 3l));
}

static inline void store_int(global uchar *dst, long to, long x) {
    switch (spec_dst_dt()) {
#define ZEMM_INT_TYPE(name, NAME, ...)                                                                       \
    case DT_##NAME:                                                                                          \
        store_int_##name(dst, to, x);                                                                        \
        break;
#include "lists/types.def"
    }
}

static inline void store_zero(global uchar *dst, long to) {
    switch (spec_bits()) {
    case 2:
    case 4:
        store_narrow(dst, spec_bits(), to, 0);
        break;
    case 8:
        dst[to] = 0;
        break;
    case 16:
        ((global ushort *)dst)[to] = 0;
        break;
    case 32:
        ((global uint *)dst)[to] = 0;
        break;
    case 64:
        ((global ulong *)dst)[to] = 0;
        break;
    }
}

#ifdef WITH_F64
typedef double real;

static inline real load_real(bytes p, int data_type, long i) {
    if (data_type == DT_F64)
        return ((global const double *)p)[i];
    return type_is_integer(data_type) ? (real)load_int(p, data_type, i) : (real)load_float(p, data_type, i);
}

// x cut to an f32, whose last bit is set where that is not exact: rounded to fewer digits, this f32 gives
// what x gives.
static inline float cut_to_f32(real x) {
    if (fabs(x) >= 0x1p128)
        return x > 0 ? INFINITY : -INFINITY;
    const float cut = convert_float_rtz(x);
    return as_float(as_uint(cut) | (cut != x));
}

static inline void store_real(global uchar *dst, long to, real x) {
    if (spec_dst_dt() == DT_F64)
        ((global double *)dst)[to] = x;
    else if (spec_dst_dt() == DT_F32)
        ((global float *)dst)[to] = convert_float_rte(x);
    else if (type_is_integer(spec_dst_dt()) && !isnan(x))
        store_int(dst, to, convert_long_rte(clamp(x, -0x1p40, 0x1p40)));
    else
        store_float(dst, spec_dst_dt(), to, cut_to_f32(x));
}
#else
typedef float real;

static inline real load_real(bytes p, int data_type, long i) {
    return load_float(p, data_type, i);
}
static inline void store_real(global uchar *dst, long to, real x) {
    store_float(dst, spec_dst_dt(), to, x);
}
#endif

// SPDX-License-Identifier: Apache-2.0
// Loads and stores of every data type that the kernels know. The values are those of zemm_data_type_t; the
// host checks them against the public header (src/matmul/kernel_enums.cpp).
#pragma once

#ifdef __OPENCL_C_VERSION__
#define DT_ENUM enum
#else
#define DT_ENUM enum data_type_code
#endif
DT_ENUM{DT_F16 = 1, DT_BF16 = 2, DT_F32 = 3, DT_S32 = 4, DT_S8 = 5, DT_U8 = 6, DT_S4 = 11, DT_U4 = 12};

#ifdef __OPENCL_C_VERSION__

typedef global const uchar *bytes;

static inline float bf16_to_float(ushort bits) {
    return as_float((uint)bits << 16);
}

// Round to nearest even; a NaN stays a quiet NaN, a denormal result becomes a zero of its sign.
static inline ushort float_to_bf16(float x) {
    const uint bits = as_uint(x);
    if (isnan(x))
        return (ushort)((bits >> 16) | 0x40);
    const ushort rounded = (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    return (rounded & 0x7f80) ? rounded : (ushort)(rounded & 0x8000);
}

// Element i of two per byte, the even one in the low nibble.
static inline int load_u4(bytes p, long i) {
    return (p[i >> 1] >> ((i & 1) * 4)) & 15;
}
static inline int load_s4(bytes p, long i) {
    return (load_u4(p, i) ^ 8) - 8;
}

static inline int load_int(bytes p, int data_type, long i) {
    switch (data_type) {
    case DT_S32:
        return ((global const int *)p)[i];
    case DT_S8:
        return ((global const char *)p)[i];
    case DT_U8:
        return p[i];
    case DT_S4:
        return load_s4(p, i);
    default:
        return load_u4(p, i);
    }
}

static inline float load_float(bytes p, int data_type, long i) {
    switch (data_type) {
    case DT_F32:
        return ((global const float *)p)[i];
    case DT_F16:
        return vload_half(i, (global const half *)p);
    case DT_BF16:
        return bf16_to_float(((global const ushort *)p)[i]);
    default:
        return (float)load_int(p, data_type, i);
    }
}

// Sixteen neighbours that start at element i (even for 4-bit types), as f32.
static inline float16 load_float16(bytes p, int data_type, long i) {
    switch (data_type) {
    case DT_F32:
        return vload16(0, (global const float *)p + i);
    case DT_F16:
        return vload_half16(0, (global const half *)p + i);
    case DT_BF16:
        return as_float16(convert_uint16(vload16(0, (global const ushort *)p + i)) << 16);
    case DT_S32:
        return convert_float16(vload16(0, (global const int *)p + i));
    case DT_S8:
        return convert_float16(vload16(0, (global const char *)p + i));
    case DT_U8:
        return convert_float16(vload16(0, p + i));
    default: {
        const uchar8 pairs = vload8(0, p + (i >> 1));
        uchar16 nibbles;
        nibbles.even = pairs & (uchar8)15;
        nibbles.odd = pairs >> (uchar8)4;
        if (data_type == DT_U4)
            return convert_float16(nibbles);
        return convert_float16(as_char16(nibbles ^ (uchar16)8) - (char16)8);
    }
    }
}

// Integers saturate, then round half to even (NaN gives 0); floats round half to even, f16 overflows to
// infinity.
static inline void store_float(global uchar *p, int data_type, long i, float x) {
    switch (data_type) {
    case DT_F32:
        ((global float *)p)[i] = x;
        break;
    case DT_F16:
        vstore_half_rte(x, i, (global half *)p);
        break;
    case DT_BF16:
        ((global ushort *)p)[i] = float_to_bf16(x);
        break;
    case DT_S32:
        // 2147483520 is the largest float below 2^31.
        ((global int *)p)[i] = isnan(x) ? 0 : convert_int_rte(clamp(x, -2147483648.f, 2147483520.f));
        break;
    case DT_S8:
        ((global char *)p)[i] = isnan(x) ? 0 : convert_char_rte(clamp(x, -128.f, 127.f));
        break;
    default:
        p[i] = isnan(x) ? 0 : convert_uchar_rte(clamp(x, 0.f, 255.f));
        break;
    }
}

#endif

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

// The 4-bit elements of 4 and 8 bytes, one in each element of the vector.
static inline uchar8 load_nibbles8(bytes p) {
    const uchar4 pairs = vload4(0, p);
    uchar8 nibbles;
    nibbles.even = pairs & (uchar4)15;
    nibbles.odd = pairs >> (uchar4)4;
    return nibbles;
}
static inline uchar16 load_nibbles16(bytes p) {
    const uchar8 pairs = vload8(0, p);
    uchar16 nibbles;
    nibbles.even = pairs & (uchar8)15;
    nibbles.odd = pairs >> (uchar8)4;
    return nibbles;
}

// N neighbours that start at element i (even for 4-bit types), as f32.
#define DEFINE_LOAD_FLOATS(N)                                                                                \
    static inline float##N load_float##N(bytes p, int data_type, long i) {                                   \
        switch (data_type) {                                                                                 \
        case DT_F32:                                                                                         \
            return vload##N(0, (global const float *)p + i);                                                 \
        case DT_F16:                                                                                         \
            return vload_half##N(0, (global const half *)p + i);                                             \
        case DT_BF16:                                                                                        \
            return as_float##N(convert_uint##N(vload##N(0, (global const ushort *)p + i)) << 16);            \
        case DT_S32:                                                                                         \
            return convert_float##N(vload##N(0, (global const int *)p + i));                                 \
        case DT_S8:                                                                                          \
            return convert_float##N(vload##N(0, (global const char *)p + i));                                \
        case DT_U8:                                                                                          \
            return convert_float##N(vload##N(0, p + i));                                                     \
        default: {                                                                                           \
            const uchar##N nibbles = load_nibbles##N(p + (i >> 1));                                          \
            if (data_type == DT_U4)                                                                          \
                return convert_float##N(nibbles);                                                            \
            return convert_float##N(as_char##N(nibbles ^ (uchar##N)8) - (char##N)8);                         \
        }                                                                                                    \
        }                                                                                                    \
    }
DEFINE_LOAD_FLOATS(8)
DEFINE_LOAD_FLOATS(16)

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

// N neighbours from element i on, by the rules of store_float.
#define DEFINE_STORE_FLOATS(N)                                                                               \
    static inline void store_float##N(global uchar *p, int data_type, long i, float##N x) {                  \
        const float##N number = select(x, (float##N)0.f, isnan(x));                                          \
        switch (data_type) {                                                                                 \
        case DT_F32:                                                                                         \
            vstore##N(x, 0, (global float *)p + i);                                                          \
            break;                                                                                           \
        case DT_F16:                                                                                         \
            vstore_half##N##_rte(x, 0, (global half *)p + i);                                                \
            break;                                                                                           \
        case DT_BF16: {                                                                                      \
            const uint##N bits = as_uint##N(x);                                                              \
            uint##N rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;                                    \
            rounded = (rounded & 0x7f80) == 0 ? rounded & 0x8000 : rounded;                                  \
            rounded = isnan(x) ? (bits >> 16) | 0x40 : rounded;                                              \
            vstore##N(convert_ushort##N(rounded), 0, (global ushort *)p + i);                                \
            break;                                                                                           \
        }                                                                                                    \
        case DT_S32:                                                                                         \
            vstore##N(convert_int##N##_rte(clamp(number, -2147483648.f, 2147483520.f)), 0,                   \
                      (global int *)p + i);                                                                  \
            break;                                                                                           \
        case DT_S8:                                                                                          \
            vstore##N(convert_char##N##_rte(clamp(number, -128.f, 127.f)), 0, (global char *)p + i);         \
            break;                                                                                           \
        default:                                                                                             \
            vstore##N(convert_uchar##N##_rte(clamp(number, 0.f, 255.f)), 0, p + i);                          \
            break;                                                                                           \
        }                                                                                                    \
    }
DEFINE_STORE_FLOATS(8)
DEFINE_STORE_FLOATS(16)

#endif

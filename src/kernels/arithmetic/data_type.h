// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the types that types.def lists. Each type has load_<type>(p, i),
// load8_<type>, load16_<type> and store_<type>(p, i, x). Types that dst may have also have
// store8_<type> and store16_<type>. p: the tensor; i: the element. Those of types of fewer than 8 bits are
// made from the row of the list, by the functions for their bits.
// Functions that take the type as a number choose among these by a switch that is made from the
// list: a type without its functions does not compile. The host passes no other numbers; for those,
// loads give 0.
#pragma once

#include "arithmetic/small_floats.h"

enum {
#define ZEMM_TYPE(name, NAME, number, bits) DT_##NAME = number,
#include "lists/types.def"
};

// Elements of other sizes need functions of their own.
#define ZEMM_TYPE(name, NAME, number, bits)                                                                  \
    _Static_assert((bits >= 2 && bits <= 4) || bits == 8 || bits == 16 || bits == 32 || bits == 64,          \
                   "code that depends on the bits of " #name " is missing");
#include "lists/types.def"

typedef global const uchar *bytes;

static inline int type_bits(int data_type) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, number, bits)                                                                  \
    case DT_##NAME:                                                                                          \
        return bits;
#include "lists/types.def"
    }
    return 0;
}

// Whether element i of a tensor begins at a whole byte, as vectors of types of fewer than 8 bits have to.
static inline bool is_whole_byte(int data_type, long i) {
    return (i * type_bits(data_type) & 7) == 0;
}

static inline bool type_is_integer(int data_type) {
    switch (data_type) {
#define ZEMM_INT_TYPE(name, NAME, ...) case DT_##NAME:
#include "lists/types.def"
        return true;
    }
    return false;
}

static inline float bf16_to_float(ushort bits) {
    return as_float((uint)bits << 16);
}

// Rounds to nearest even. A NaN stays a quiet NaN. A denormal result becomes a zero of its sign.
static inline ushort float_to_bf16(float x) {
    const uint bits = as_uint(x);
    if (isnan(x))
        return (ushort)((bits >> 16) | 0x40);
    const ushort rounded = (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    return (rounded & 0x7f80) ? rounded : (ushort)(rounded & 0x8000);
}

// Rounds a vector of f32 to bf16, in the low halves. Denormal results are kept.
static inline uint16 bf16_bits(float16 x) {
    const uint16 bits = as_uint16(x);
    const uint16 rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return (isnan(x) ? bits | 0x400000 : rounded) >> 16;
}

// Element i of fewer than 8 bits begins at bit i * bits, the first one in the lowest bits. A store keeps the
// bits of the others.
static inline int load_narrow(bytes p, int bits, long i) {
    const int shift = (int)(i * bits & 7);
    int code = p[i * bits >> 3] >> shift;
    if (8 % bits != 0 && shift + bits > 8) // it goes on in the next byte
        code |= p[(i * bits >> 3) + 1] << (8 - shift);
    return code & ((1 << bits) - 1);
}
static inline void store_narrow(global uchar *p, int bits, long i, int value) {
    const int shift = (int)(i * bits & 7), mask = (1 << bits) - 1;
    global uchar *byte = p + (i * bits >> 3);
    *byte = (uchar)((*byte & ~(mask << shift)) | ((value & mask) << shift));
    if (8 % bits != 0 && shift + bits > 8)
        byte[1] = (uchar)((byte[1] & ~(mask >> (8 - shift))) | ((value & mask) >> (8 - shift)));
}

// A store into a byte whose other parts other work-items may write at the same time.
static inline void store_shared_narrow(global uchar *p, int bits, long i, int value) {
    const ulong address = (ulong)(p + (i * bits >> 3));
    volatile global uint *word = (volatile global uint *)(address & ~3ul);
    const int shift = (int)(address & 3) * 8 + (int)(i * bits & 7);
    const uint mask = (1u << bits) - 1;
    atomic_and(word, ~(mask << shift));
    atomic_or(word, ((uint)value & mask) << shift);
}

// load_<bits>_bits8 and 16: the codes of neighbours from element i on, one to each element of the vector.
// Element i begins at a whole byte.
static inline uchar8 load_4_bits8(bytes p, long i) {
    const uchar4 pairs = vload4(0, p + (i >> 1));
    uchar8 codes;
    codes.even = pairs & (uchar4)15;
    codes.odd = pairs >> (uchar4)4;
    return codes;
}
static inline uchar16 load_4_bits16(bytes p, long i) {
    const uchar8 pairs = vload8(0, p + (i >> 1));
    uchar16 codes;
    codes.even = pairs & (uchar8)15;
    codes.odd = pairs >> (uchar8)4;
    return codes;
}
static inline uchar8 eight_of_2_bits(bytes p) {
    const uchar2 fours = vload2(0, p);
    const uchar8 shifts = (uchar8)(0, 2, 4, 6, 0, 2, 4, 6);
    return ((uchar8)((uchar4)fours.x, (uchar4)fours.y) >> shifts) & (uchar8)3;
}
static inline uchar8 load_2_bits8(bytes p, long i) {
    return eight_of_2_bits(p + (i >> 2));
}
static inline uchar16 load_2_bits16(bytes p, long i) {
    return (uchar16)(eight_of_2_bits(p + (i >> 2)), eight_of_2_bits(p + (i >> 2) + 2));
}

static inline uchar8 eight_of_3_bits(bytes p) {
    const uint eight = p[0] | p[1] << 8 | p[2] << 16;
    return convert_uchar8((uint8)eight >> (uint8)(0, 3, 6, 9, 12, 15, 18, 21) & (uint8)7);
}
static inline uchar8 load_3_bits8(bytes p, long i) {
    return eight_of_3_bits(p + (i >> 3) * 3);
}
static inline uchar16 load_3_bits16(bytes p, long i) {
    return (uchar16)(load_3_bits8(p, i), load_3_bits8(p, i + 8));
}

static inline void store_4_bits8(global uchar *p, long i, uchar8 codes) {
    vstore4(codes.even | codes.odd << (uchar4)4, 0, p + (i >> 1));
}
static inline void store_4_bits16(global uchar *p, long i, uchar16 codes) {
    vstore8(codes.even | codes.odd << (uchar8)4, 0, p + (i >> 1));
}

// Integers of fewer than 8 bits. The macros of the other sizes are empty.
#define VALUE_yes(codes, bits) ((codes ^ (1 << (bits - 1))) - (1 << (bits - 1)))
#define VALUE_no(codes, bits) codes
#define VALUES_yes(codes, bits, N)                                                                           \
    as_char##N(codes ^ (uchar##N)(1 << (bits - 1))) - (char##N)(1 << (bits - 1))
#define VALUES_no(codes, bits, N) codes
#define SMALL_INT(name, bits, is_signed, low, high)                                                          \
    static inline int load_##name(bytes p, long i) {                                                         \
        return VALUE_##is_signed(load_narrow(p, bits, i), bits);                                             \
    }                                                                                                        \
    static inline void store_##name(global uchar *p, long i, float x) {                                      \
        const float inside = isnan(x) ? 0.f : clamp(x, (float)low, (float)high);                             \
        store_narrow(p, bits, i, convert_int_rte(inside));                                                   \
    }                                                                                                        \
    static inline void store_int_##name(global uchar *p, long i, long x) {                                   \
        store_narrow(p, bits, i, (int)clamp(x, (long)low, (long)high));                                      \
    }                                                                                                        \
    static inline float8 load8_##name(bytes p, long i) {                                                     \
        const uchar8 codes = load_##bits##_bits8(p, i);                                                      \
        return convert_float8(VALUES_##is_signed(codes, bits, 8));                                           \
    }                                                                                                        \
    static inline float16 load16_##name(bytes p, long i) {                                                   \
        const uchar16 codes = load_##bits##_bits16(p, i);                                                    \
        return convert_float16(VALUES_##is_signed(codes, bits, 16));                                         \
    }
#define INT_OF_2(...) SMALL_INT(__VA_ARGS__)
#define INT_OF_3(...) SMALL_INT(__VA_ARGS__)
#define INT_OF_4(...) SMALL_INT(__VA_ARGS__)
#define INT_OF_8(...)
#define INT_OF_32(...)
#define ZEMM_INT_TYPE(name, NAME, number, bits, is_signed, low, high, ...)                                   \
    INT_OF_##bits(name, bits, is_signed, low, high)
#include "lists/types.def"

// Loads and stores of floats of 8 and 4 bits and of e8m0, by the conversions in small_floats.h.
#define VECTORS_OF_8(name, N)                                                                                \
    static inline float##N load##N##_##name(bytes p, long i) {                                               \
        return from_##name##N(convert_uint##N(vload##N(0, p + i)));                                          \
    }                                                                                                        \
    static inline void store##N##_##name(global uchar *p, long i, float##N x) {                              \
        vstore##N(convert_uchar##N(to_##name##N(x)), 0, p + i);                                              \
    }
#define VECTORS_OF_4(name, N)                                                                                \
    static inline float##N load##N##_##name(bytes p, long i) {                                               \
        return from_##name##N(convert_uint##N(load_4_bits##N(p, i)));                                        \
    }                                                                                                        \
    static inline void store##N##_##name(global uchar *p, long i, float##N x) {                              \
        store_4_bits##N(p, i, convert_uchar##N(to_##name##N(x)));                                            \
    }
#define FUNCTIONS_OF_8(name)                                                                                 \
    static inline float load_##name(bytes p, long i) { return from_##name(p[i]); }                           \
    static inline void store_##name(global uchar *p, long i, float x) { p[i] = (uchar)to_##name(x); }        \
    VECTORS_OF_8(name, 8)                                                                                    \
    VECTORS_OF_8(name, 16)
#define FUNCTIONS_OF_4(name)                                                                                 \
    static inline float load_##name(bytes p, long i) { return from_##name(load_narrow(p, 4, i)); }           \
    static inline void store_##name(global uchar *p, long i, float x) {                                      \
        store_narrow(p, 4, i, (int)to_##name(x));                                                            \
    }                                                                                                        \
    VECTORS_OF_4(name, 8)                                                                                    \
    VECTORS_OF_4(name, 16)
#define FUNCTIONS_OF_16(name)
#define FUNCTIONS_OF_32(name)
#define FUNCTIONS_OF_64(name)
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, ...) FUNCTIONS_OF_##bits(name)
#include "lists/types.def"

static inline float load_f32(bytes p, long i) {
    return ((global const float *)p)[i];
}
#ifdef WITH_F64
static inline float load_f64(bytes p, long i) {
    return (float)((global const double *)p)[i];
}
#endif
static inline float load_f16(bytes p, long i) {
    return vload_half(i, (global const half *)p);
}
static inline float load_bf16(bytes p, long i) {
    return bf16_to_float(((global const ushort *)p)[i]);
}
static inline int load_s32(bytes p, long i) {
    return ((global const int *)p)[i];
}
static inline int load_s8(bytes p, long i) {
    return ((global const char *)p)[i];
}
static inline int load_u8(bytes p, long i) {
    return p[i];
}

static inline int load_int(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_INT_TYPE(name, NAME, ...)                                                                       \
    case DT_##NAME:                                                                                          \
        return load_##name(p, i);
#include "lists/types.def"
    }
    return 0;
}

static inline float load_float(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...)                                                                           \
    case DT_##NAME:                                                                                          \
        return (float)load_##name(p, i);
#include "lists/types.def"
    }
    return 0.f;
}

// An element of a scale: only the types that the list allows for it, and integers, which have factors.
// Kernels load scales in unrolled loops, and Intel's GPU compiler (IGC 2.40) does not unroll them if the
// cases are too many: it then keeps the sums in memory.
#define CASE_no(...)
#define CASE_yes(NAME, statement)                                                                            \
    case DT_##NAME:                                                                                          \
        statement;                                                                                           \
        break;
static inline float load_scale_element(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_USES(name, NAME, src, weights, dst, bias, scale, ...)                                           \
    CASE_##scale(NAME, return load_##name(p, i))
#include "lists/types.def"
        CASE_yes(S8, return load_s8(p, i)) CASE_yes(U8, return load_u8(p, i))
    }
    return 0.f;
}

// NaN becomes the integer that oneDNN's kernels for CPUs make of it. Types of fewer than 8 bits get 0.
#define NAN_AS_S32 (-2147483648.f)
#define NAN_AS_S8 (-128.f)
#define NAN_AS_U8 255.f
static inline float saturated(float x, float low, float high, float of_nan) {
    return isnan(x) ? of_nan : clamp(x, low, high);
}

// Stores of f32 x. Integers saturate and round half to even. Floats round half to
// even; f16 and f8_e5m2 overflow to infinity, f8_e4m3 to NaN. f4_e2m1 saturates, and NaN becomes 6.
static inline void store_f32(global uchar *p, long i, float x) {
    ((global float *)p)[i] = x;
}
#ifdef WITH_F64
static inline void store_f64(global uchar *p, long i, float x) {
    ((global double *)p)[i] = x;
}
#endif
static inline void store_f16(global uchar *p, long i, float x) {
    vstore_half_rte(x, i, (global half *)p);
}
static inline void store_bf16(global uchar *p, long i, float x) {
    ((global ushort *)p)[i] = float_to_bf16(x);
}
static inline void store_s32(global uchar *p, long i, float x) {
    // 2147483520 is the largest float below 2^31.
    ((global int *)p)[i] = convert_int_rte(saturated(x, -2147483648.f, 2147483520.f, NAN_AS_S32));
}
static inline void store_s8(global uchar *p, long i, float x) {
    ((global char *)p)[i] = convert_char_rte(saturated(x, -128.f, 127.f, NAN_AS_S8));
}
static inline void store_u8(global uchar *p, long i, float x) {
    p[i] = convert_uchar_rte(saturated(x, 0.f, 255.f, NAN_AS_U8));
}

static inline void store_float(global uchar *p, int data_type, long i, float x) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...)                                                                           \
    case DT_##NAME:                                                                                          \
        store_##name(p, i, x);                                                                               \
        break;
#include "lists/types.def"
    }
}

// Loads N contiguous elements from element i on, as f32. Element i begins at a whole byte.
#define DEFINE_LOADS(N)                                                                                      \
    static inline float##N load##N##_f32(bytes p, long i) {                                                  \
        return vload##N(0, (global const float *)p + i);                                                     \
    }                                                                                                        \
    static inline float##N load##N##_f16(bytes p, long i) {                                                  \
        return vload_half##N(0, (global const half *)p + i);                                                 \
    }                                                                                                        \
    static inline float##N load##N##_bf16(bytes p, long i) {                                                 \
        return as_float##N(convert_uint##N(vload##N(0, (global const ushort *)p + i)) << 16);                \
    }                                                                                                        \
    static inline float##N load##N##_s32(bytes p, long i) {                                                  \
        return convert_float##N(vload##N(0, (global const int *)p + i));                                     \
    }                                                                                                        \
    static inline float##N load##N##_s8(bytes p, long i) {                                                   \
        return convert_float##N(vload##N(0, (global const char *)p + i));                                    \
    }                                                                                                        \
    static inline float##N load##N##_u8(bytes p, long i) { return convert_float##N(vload##N(0, p + i)); }
DEFINE_LOADS(8)
DEFINE_LOADS(16)
#ifdef WITH_F64
static inline float8 load8_f64(bytes p, long i) {
    return convert_float8(vload8(0, (global const double *)p + i));
}
static inline float16 load16_f64(bytes p, long i) {
    return convert_float16(vload16(0, (global const double *)p + i));
}
#endif

static inline float8 load_float8(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...)                                                                           \
    case DT_##NAME:                                                                                          \
        return load8_##name(p, i);
#include "lists/types.def"
    }
    return (float8)0.f;
}

static inline float16 load_float16(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_TYPE(name, NAME, ...)                                                                           \
    case DT_##NAME:                                                                                          \
        return load16_##name(p, i);
#include "lists/types.def"
    }
    return (float16)0.f;
}

static inline float8 load_scale_element8(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_USES(name, NAME, src, weights, dst, bias, scale, ...)                                           \
    CASE_##scale(NAME, return load8_##name(p, i))
#include "lists/types.def"
        CASE_yes(S8, return load8_s8(p, i)) CASE_yes(U8, return load8_u8(p, i))
    }
    return (float8)0.f;
}

static inline float16 load_scale_element16(bytes p, int data_type, long i) {
    switch (data_type) {
#define ZEMM_USES(name, NAME, src, weights, dst, bias, scale, ...)                                           \
    CASE_##scale(NAME, return load16_##name(p, i))
#include "lists/types.def"
        CASE_yes(S8, return load16_s8(p, i)) CASE_yes(U8, return load16_u8(p, i))
    }
    return (float16)0.f;
}

// Stores N contiguous elements from element i on, rounded as store_<type> does. Element i begins at a whole
// byte.
#define DEFINE_STORES(N)                                                                                     \
    static inline void store##N##_f32(global uchar *p, long i, float##N x) {                                 \
        vstore##N(x, 0, (global float *)p + i);                                                              \
    }                                                                                                        \
    static inline void store##N##_f16(global uchar *p, long i, float##N x) {                                 \
        vstore_half##N##_rte(x, 0, (global half *)p + i);                                                    \
    }                                                                                                        \
    static inline void store##N##_bf16(global uchar *p, long i, float##N x) {                                \
        const uint##N bits = as_uint##N(x);                                                                  \
        uint##N rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;                                        \
        rounded = (rounded & 0x7f80) == 0 ? rounded & 0x8000 : rounded;                                      \
        rounded = isnan(x) ? (bits >> 16) | 0x40 : rounded;                                                  \
        vstore##N(convert_ushort##N(rounded), 0, (global ushort *)p + i);                                    \
    }                                                                                                        \
    static inline float##N saturated##N(float##N x, float low, float high, float of_nan) {                   \
        return clamp(select(x, (float##N)of_nan, isnan(x)), low, high);                                      \
    }                                                                                                        \
    static inline void store##N##_s32(global uchar *p, long i, float##N x) {                                 \
        vstore##N(convert_int##N##_rte(saturated##N(x, -2147483648.f, 2147483520.f, NAN_AS_S32)), 0,         \
                  (global int *)p + i);                                                                      \
    }                                                                                                        \
    static inline void store##N##_s8(global uchar *p, long i, float##N x) {                                  \
        vstore##N(convert_char##N##_rte(saturated##N(x, -128.f, 127.f, NAN_AS_S8)), 0,                       \
                  (global char *)p + i);                                                                     \
    }                                                                                                        \
    static inline void store##N##_u8(global uchar *p, long i, float##N x) {                                  \
        vstore##N(convert_uchar##N##_rte(saturated##N(x, 0.f, 255.f, NAN_AS_U8)), 0, p + i);                 \
    }
DEFINE_STORES(8)
DEFINE_STORES(16)
#ifdef WITH_F64
static inline void store8_f64(global uchar *p, long i, float8 x) {
    vstore8(convert_double8(x), 0, (global double *)p + i);
}
static inline void store16_f64(global uchar *p, long i, float16 x) {
    vstore16(convert_double16(x), 0, (global double *)p + i);
}
#endif

// Only for types that dst may have.
static inline void store_float8(global uchar *p, int data_type, long i, float8 x) {
    switch (data_type) {
#define ZEMM_USES(name, NAME, src, weights, dst, ...) CASE_##dst(NAME, store8_##name(p, i, x))
#include "lists/types.def"
    }
}

static inline void store_float16(global uchar *p, int data_type, long i, float16 x) {
    switch (data_type) {
#define ZEMM_USES(name, NAME, src, weights, dst, ...) CASE_##dst(NAME, store16_##name(p, i, x))
#include "lists/types.def"
    }
}
#undef CASE_no
#undef CASE_yes

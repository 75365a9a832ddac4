// SPDX-License-Identifier: Apache-2.0
// f8 as f16, which CPUs with AVX2 convert to f32 in an instruction: e5m2 is the upper half of an f16, and
// e4m3, shifted by a bit, is an f16 of 1/256 of its value. And f16 as two bf16.
#pragma once

#include "arithmetic/type_sets.h"

KNOWS(SMALL_FLOATS, BIT_F8_E5M2 | BIT_F8_E4M3 | BIT_F4_E2M1);

// Codes in the upper bytes of 16 bits become f16. NaN of e4m3 has its own code.
#define DEFINE_HALVES_OF_F8(T, SIGNED_T)                                                                     \
    static inline __attribute__((overloadable)) T halves_of_f8(T codes, int data_type) {                     \
        if (data_type == DT_F8_E5M2)                                                                         \
            return codes & (T)0xff00;                                                                        \
        const T halves = __builtin_astype(__builtin_astype(codes, SIGNED_T) >> (SIGNED_T)1, T) & (T)0xbf80;  \
        const SIGNED_T is_nan = (halves & (T)0x3f80) == (T)0x3f80;                                           \
        return halves | (__builtin_astype(is_nan, T) & (T)0x7c00);                                           \
    }
DEFINE_HALVES_OF_F8(ushort16, short16)

// The factor of f16 of halves_of_f8().
static inline float factor_of_f8(int data_type) {
    return data_type == DT_F8_E4M3 ? 256.f : 1.f;
}

// As load_float16, for f8 in fewer instructions.
static inline float16 load_wide16(bytes p, int data_type, long i) {
    if (data_type != DT_F8_E5M2 && data_type != DT_F8_E4M3)
        return load_float16(p, data_type, i);
    const ushort16 halves = halves_of_f8(convert_ushort16(vload16(0, p + i)) << (ushort16)8, data_type);
    return vload_half16(0, (__private const half *)&halves) * factor_of_f8(data_type);
}

// An f16 as the sum of two bf16. It has 11 digits and a bf16 has 8, so both are exact. Both have the value's
// sign or are 0. The parts of infinity are infinity and 0, the second part of NaN is NaN.
static inline float16 first_part(float16 x) {
    return as_float16(as_int16(x) & (int)0xffff0000);
}
static inline float16 second_part(float16 x) {
    const float16 first = first_part(x);
    return x == first ? (float16)0 : x - first;
}

// SPDX-License-Identifier: Apache-2.0
// Converts f8 and f4 weights to pairs of f16 or bf16 for DPAS, by operations on whole ints. An int has
// four elements of K of a column, or eight of 4 bits. Its pairs are elements that are 16 bits apart,
// because no operation moves one half of a pair alone: elements 0 2, 1 3, or 0 4, 1 5, 2 6, 3 7. src has
// its elements of K in the same order (arrange_src.cl).
//
// The bits of a code become the highest bits of an f16: sign, exponent, digits. Its exponent has
// another bias, so that the value is wrong by a power of two (small_float_factor()), for subnormal
// codes, too: they become subnormal f16, which DPAS multiplies as they are. The NaN of f8_e4m3 becomes
// an ordinary number: note_nan() finds it.
#pragma once

#include "policy/shared/packed.h"

KNOWS(SMALL_FLOATS, BIT_F8_E5M2 | BIT_F8_E4M3 | BIT_F4_E2M1);

// The value of a code divided by that of the f16 that it becomes.
static inline float small_float_factor() {
    return spec_wei_dt() == DT_F8_E4M3 ? 0x1p8f : spec_wei_dt() == DT_F4_E2M1 ? 0x1p14f : 1.f;
}

// The pair of f8 whose codes are the upper bytes of x's halves.
static inline uint pair_of_f8(uint x) {
    if (spec_wei_dt() == DT_F8_E5M2)
        return x & 0xff00ff00;
    return (x & 0x80008000) | (x >> 1 & 0x3f803f80);
}

// The pair of f4 whose codes are the upper four bits of x's halves.
static inline uint pair_of_f4(uint x) {
    return (x & 0x80008000) | (x >> 3 & 0x0e000e00);
}

// A pair of f16 as a pair of src's type. Both types are exact.
static inline int as_pair(uint pair) {
    if (spec_src_dt() == DT_F16)
        return (int)pair;
    const half2 two = as_half2(pair);
    return (int)(as_uint(convert_float(two.s0)) >> 16 | as_uint(convert_float(two.s1)));
}

// All pairs of an int of weights.
static inline int2 pairs_of_four(uint four) {
    return (int2)(as_pair(pair_of_f8(four << 8)), as_pair(pair_of_f8(four)));
}
static inline int4 pairs_of_eight(uint eight) {
    return (int4)(as_pair(pair_of_f4(eight << 12)), as_pair(pair_of_f4(eight << 8)),
                  as_pair(pair_of_f4(eight << 4)), as_pair(pair_of_f4(eight)));
}

// Converts 32 elements of K of a column, as ints of weights, to two steps of src's type.
static inline void convert_small_floats(int8 from, __private int8 *first, __private int8 *second) {
    if (wei_bits() == 4) {
        *first = (int8)(pairs_of_eight(from.s0), pairs_of_eight(from.s1));
        *second = (int8)(pairs_of_eight(from.s2), pairs_of_eight(from.s3));
    } else {
        *first = (int8)(pairs_of_four(from.s0), pairs_of_four(from.s1), pairs_of_four(from.s2),
                        pairs_of_four(from.s3));
        *second = (int8)(pairs_of_four(from.s4), pairs_of_four(from.s5), pairs_of_four(from.s6),
                         pairs_of_four(from.s7));
    }
}

// `from`, 32 elements of K of a column, with zeros behind the first `count` elements.
static inline int8 first_elements(int8 from, int count) {
    union {
        int8 all;
        uint each[8];
    } ints = {from};
    const int per_int = 32 / wei_bits();
#pragma unroll
    for (int i = 0; i < 8; ++i)
        ints.each[i] &= lowest_bits(clamp(count - i * per_int, 0, per_int) * wei_bits());
    return ints.all;
}

// In f8_e4m3 only NaN has all of its lower seven bits set, so that adding 1 changes its sign bit. With
// a NaN in the int, the other bytes do not matter.
#define LOSES_NAN (spec_wei_dt() == DT_F8_E4M3)
#define NAN_BITS 0x80808080
static inline int nan_of(int four) {
    return (four + 0x01010101) ^ four;
}

// Some of NAN_BITS are set if there is a NaN in the ints, or if `marks` has some of them.
static inline int note_nan(int8 from, int marks) {
    return marks | nan_of(from.s0) | nan_of(from.s1) | nan_of(from.s2) | nan_of(from.s3) | nan_of(from.s4) |
           nan_of(from.s5) | nan_of(from.s6) | nan_of(from.s7);
}

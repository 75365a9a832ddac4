// SPDX-License-Identifier: Apache-2.0
// Conversions of the floats of 8 and 4 bits (OCP), and of the 8-bit exponents, from and to f32. A
// code without its sign is a magnitude: an exponent with a bias, and below it the digits. Codes with
// exponent 0 are subnormal: multiples of one smallest value. The conversions of floats need no
// subnormal f32, which a device may treat as 0.
#pragma once

#define DEFINE_SMALL_FLOATS(N)                                                                               \
    static inline float##N from_magnitude##N(uint##N magnitude, int digits, int bias) {                      \
        const float smallest = as_float((uint)(128 - bias - digits) << 23);                                  \
        const float##N normal = as_float##N((magnitude << (23 - digits)) + ((uint)(127 - bias) << 23));      \
        return magnitude < (uint##N)(1 << digits) ? convert_float##N(magnitude) * smallest : normal;         \
    }                                                                                                        \
    /* Rounds |x| half to even. NaN, infinity and what is too large give more than any code. */              \
    static inline uint##N to_magnitude##N(float##N x, int digits, int bias) {                                \
        const uint##N bits = as_uint##N(fabs(x));                                                            \
        const int lost = 23 - digits;                                                                        \
        const uint##N normal =                                                                               \
            ((bits + ((1u << (lost - 1)) - 1) + ((bits >> lost) & 1)) >> lost) - ((127 - bias) << digits);   \
        /* The last bit of |x| + rounder is worth one smallest value. */                                     \
        const float rounder = as_float((uint)(151 - bias - digits) << 23);                                   \
        const uint##N subnormal = as_uint##N(fabs(x) + rounder) - as_uint(rounder);                          \
        return bits < (uint##N)((128 - bias) << 23) ? subnormal : normal;                                    \
    }                                                                                                        \
    static inline float##N from_f8_e5m2##N(uint##N code) {                                                   \
        const uint##N magnitude = code & 0x7f;                                                               \
        const float##N finite = from_magnitude##N(magnitude, 2, 15);                                         \
        const uint##N bits =                                                                                 \
            magnitude < (uint##N)0x7c ? as_uint##N(finite) : (magnitude << 21) + 0x70000000;                 \
        return as_float##N(bits | (code & 0x80) << 24);                                                      \
    }                                                                                                        \
    static inline float##N from_f8_e4m3##N(uint##N code) {                                                   \
        const uint##N magnitude = code & 0x7f;                                                               \
        const float##N finite = from_magnitude##N(magnitude, 3, 7);                                          \
        const uint##N bits = magnitude == (uint##N)0x7f ? (uint##N)0x7fc00000 : as_uint##N(finite);          \
        return as_float##N(bits | (code & 0x80) << 24);                                                      \
    }                                                                                                        \
    static inline float##N from_f4_e2m1##N(uint##N code) {                                                   \
        return as_float##N(as_uint##N(from_magnitude##N(code & 7, 1, 1)) | (code & 8) << 28);                \
    }                                                                                                        \
    /* Code 0 is 2^-127, a subnormal f32. */                                                                 \
    static inline float##N from_e8m0##N(uint##N code) {                                                      \
        const uint##N bits = code == (uint##N)0xff ? (uint##N)0x7fc00000 : code << 23;                       \
        return as_float##N(code == (uint##N)0 ? (uint##N)0x00400000 : bits);                                 \
    }                                                                                                        \
    static inline uint##N to_f8_e5m2##N(float##N x) {                                                        \
        const uint##N magnitude = min(to_magnitude##N(x, 2, 15), (uint##N)0x7c);                             \
        const uint##N nan = as_uint##N(fabs(x)) > (uint##N)0x7f800000 ? (uint##N)0x7e : magnitude;           \
        return nan | (as_uint##N(x) >> 24 & 0x80);                                                           \
    }                                                                                                        \
    static inline uint##N to_f8_e4m3##N(float##N x) {                                                        \
        return min(to_magnitude##N(x, 3, 7), (uint##N)0x7f) | (as_uint##N(x) >> 24 & 0x80);                  \
    }                                                                                                        \
    static inline uint##N to_f4_e2m1##N(float##N x) {                                                        \
        return min(to_magnitude##N(x, 1, 1), (uint##N)7) | (as_uint##N(x) >> 28 & 8);                        \
    }                                                                                                        \
    /* The exponent, without rounding or sign. */                                                            \
    static inline uint##N to_e8m0##N(float##N x) { return as_uint##N(x) >> 23 & 0xff; }
DEFINE_SMALL_FLOATS()
DEFINE_SMALL_FLOATS(8)
DEFINE_SMALL_FLOATS(16)

// SPDX-License-Identifier: Apache-2.0
// The scale of a group of values that become floats of 8 or 4 bits: a power of two (OCP MX, e8m0), or an
// f8_e4m3 (as in NVFP4).
#pragma once

#include "arithmetic/data_type.h"

struct group_scale {
    uint code;    // the scale, an e8m0 or f8_e4m3
    float factor; // its inverse; NaN if the scale is NaN, as all values are then
};

// x rounded half to even to the digits of an f16. x: in the range of normal f16.
static inline float rounded_to_f16(float x) {
    const uint bits = as_uint(x);
    return as_float((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

// magnitude: the bits of the group's largest magnitude. They are larger than those of infinity if it has a
// NaN. most, most_exponent: the largest value of dst's type, and its exponent as an f32 has it. through_f16:
// whether an f8_e4m3 is rounded to f16 first, as scales of a matmul are in oneDNN.
static inline struct group_scale group_scale_of(bool is_mx, uint magnitude, float most, int most_exponent,
                                                bool through_f16) {
    struct group_scale s;
    if (is_mx) {
        const int exponent = (int)(magnitude >> 23) - most_exponent;
        s.code = magnitude >= 0x7f800000 ? 0xff : (uint)max(exponent + 127, 0);
        s.factor = s.code == 0xff ? NAN : as_float((254 - s.code) << 23);
    } else {
        // The smallest scale is the distance of 1 to the next f8_e4m3, as in oneDNN.
        const float scale = clamp(as_float(magnitude) / most, 0.125f, 448.f);
        s.code = magnitude > 0x7f800000 ? 0x7f : to_f8_e4m3(through_f16 ? rounded_to_f16(scale) : scale);
        s.factor = 1.f / from_f8_e4m3(s.code);
    }
    return s;
}

// The bits of the largest magnitude of `vectors` vectors.
static inline uint largest_magnitude(__private const float16 *x, int vectors) {
    uint16 all = (uint16)0;
    for (int v = 0; v < vectors; ++v)
        all = max(all, as_uint16(x[v]) & (uint16)0x7fffffff);
    const uint8 a = max(all.lo, all.hi);
    const uint4 b = max(a.lo, a.hi);
    return max(max(b.x, b.y), max(b.z, b.w));
}

// A scale is rounded, so values may exceed the range of dst's type: they become its largest value.
static inline float16 scaled_values(float16 x, float factor, float most) {
    return isnan(factor) ? (float16)NAN : clamp(x * factor, -most, most);
}

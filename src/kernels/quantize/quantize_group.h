// SPDX-License-Identifier: Apache-2.0
// Quantises a group of a row of f32, f16 or bf16 to s8, or to u8 with a zero point.
//
//   s8: scale = amax / 127, value = x / scale
//   u8: scale = (max - min) / 255 with min <= 0 <= max, zero point = -min / scale,
//       value = x / scale + zero point
//   with a reduced range: 63 in place of 127, 127 in place of 255
//
// Divisions and roundings (half to even) are exact: the result is that of real arithmetic, however
// exact the device's own division is. A scale is rounded to its type first, and values are divided
// by the rounded scale. A group of zeros has scale 1. A group with a NaN or infinity has that as
// its scale; its values, sum and zero point are 0.
//
// Before this header:
//   is_u8()             dst is u8 with zero points, else s8
//   most()              the largest value of dst
//   scale_in_its_type(scale, rest)   the scale, at least 0, rounded to the type of scales; never 0, nor
//                       a denormal f32. rest has the sign of the exact quotient minus scale
//   spec_vectors()      vectors of 16 in a group, at most QUANTIZE_MAX_VECTORS; 0: other groups
//   load_quantized16(src, i), load_quantized(src, i)   16 elements of src, or one, as f32
#pragma once

#include "args/quantize_args.h"

static inline uint largest(uint16 v) {
    const uint8 a = max(v.lo, v.hi);
    const uint4 b = max(a.lo, a.hi);
    const uint2 c = max(b.lo, b.hi);
    return max(c.x, c.y);
}

// a where it is greater, else b. One max instruction does this; fmax has to treat NaNs differently.
static inline float16 greater16(float16 a, float16 b) {
    return select(b, a, a > b);
}

static inline float greatest(float16 v) {
    const float8 a = select(v.lo, v.hi, v.hi > v.lo);
    const float4 b = select(a.lo, a.hi, a.hi > a.lo);
    const float2 c = select(b.lo, b.hi, b.hi > b.lo);
    return c.x > c.y ? c.x : c.y;
}

// Rounds to the nearest integer, half to even, for |x| < 2^22: the last bit of 1.5 * 2^23 + x is
// worth 1. A conversion with a rounding mode would be a function call on a CPU.
#define ROUNDER 0x1.8p23f
static inline int16 nearest16(float16 x, __private float16 *as_float) {
    const float16 sum = x + (float16)ROUNDER;
    *as_float = sum - (float16)ROUNDER;
    return as_int16(sum) - (int16)0x4b400000;
}
static inline int nearest(float x) {
    return as_int(x + ROUNDER) - 0x4b400000;
}

static inline int total(int16 v) {
    const int8 a = v.lo + v.hi;
    const int4 b = a.lo + a.hi;
    const int2 c = b.lo + b.hi;
    return c.x + c.y;
}

// How a group is quantised.
struct range {
    float scale, step; // scale: as it is stored; step: the divisor, 1 if nothing is divided
    int zero_point;
    bool finite; // false: all values become 0
};

// x / step, rounded half to even. value: an estimate that is off by 1 at most, so that
// x - value * step is exact in f32.
static inline int rounded(float x, float step, int value) {
    const float rest = fma((float)-value, step, x);
    const float twice = 2.f * fabs(rest);
    const bool away = twice > step || (twice == step && (value & 1));
    return away ? value + (rest > 0.f ? 1 : -1) : value;
}

// span / most(), rounded to the nearest f32. rest: span - most() * result. One fma with the remainder
// of the estimate corrects it (Markstein).
static inline float quotient(float span, __private float *rest) {
    const float steps = (float)most();
    const float inverse = most() == 63 ? 1.f / 63.f : most() == 127 ? 1.f / 127.f : 1.f / 255.f;
    const float estimate = span * inverse;
    const float result = fma(fma(-steps, estimate, span), inverse, estimate);
    *rest = fma(-steps, result, span);
    return result;
}

// The scale of a group in its type; never 0, nor a denormal f32. below, above: the largest distances of
// values from 0 to either side.
static inline float scale_of(float below, float above) {
    const float span = above + below;
    if (span == 0.f)
        return 1.f;
    float rest, scale;
    if (isinf(span)) { // the values are finite: divide half of the span, then double
        scale = 2.f * quotient(0.5f * above + 0.5f * below, &rest);
    } else {
        scale = quotient(span, &rest);
    }
    return scale_in_its_type(scale, rest);
}

// magnitude: the bits of the largest absolute value. below, above: the largest distances of values
// from 0 to either side; used for u8.
static inline struct range range_of_extremes(uint magnitude, float below, float above) {
    struct range r = {as_float(magnitude), 1.f, 0, magnitude < 0x7f800000};
    if (!r.finite)
        return r;
    r.scale = is_u8() ? scale_of(below, above) : scale_of(0.f, as_float(magnitude));
    // A scale that overflows its type is infinite: all values become 0.
    r.finite = as_uint(r.scale) < 0x7f800000;
    if (!r.finite)
        return r;
    r.step = r.scale;
    if (is_u8())
        r.zero_point = clamp(rounded(below, r.step, nearest(below / r.step)), 0, most());
    return r;
}

static inline struct range range_of(bytes src, long from, long count) {
    uint16 magnitudes = (uint16)0;
    float16 low = (float16)0.f, high = (float16)0.f;
    long i = 0;
    for (; i + 16 <= count; i += 16) {
        const float16 x = load_quantized16(src, from + i);
        magnitudes = max(magnitudes, as_uint16(x) & (uint16)0x7fffffff);
        if (is_u8()) {
            low = greater16(-x, low);
            high = greater16(x, high);
        }
    }
    uint magnitude = largest(magnitudes);
    float below = greatest(low), above = greatest(high);
    for (; i < count; ++i) {
        const float x = load_quantized(src, from + i);
        magnitude = max(magnitude, as_uint(x) & 0x7fffffff);
        below = fmax(below, -x);
        above = fmax(above, x);
    }
    return range_of_extremes(magnitude, below, above);
}

static inline int16 stored16(int16 values, int zero_point) {
    return is_u8() ? clamp(values + (int16)zero_point, (int16)0, (int16)most()) : values;
}

static inline void store_bytes16(global uchar *dst, long to, int16 values) {
    vstore16(convert_uchar16(values), 0, dst + to); // the low byte of each
}

// Quantises `count` elements. Values next to a tie are rounded by the exact remainder. Returns the
// sum of the stored values.
static inline int quantize_exactly(bytes src, long from, global uchar *dst, long to, long count,
                                   struct range r) {
    const float inverse = 1.f / r.step;
    int16 sums = (int16)0;
    long i = 0;
    for (; i + 16 <= count; i += 16) {
        const float16 x = load_quantized16(src, from + i);
        float16 whole;
        int16 values = nearest16(x * (float16)inverse, &whole);
        const float16 rest = fma(-whole, (float16)r.step, x);
        const float16 twice = fabs(rest) * (float16)2.f;
        const int16 away =
            (twice > (float16)r.step) | ((twice == (float16)r.step) & ((values & (int16)1) != (int16)0));
        values += select((int16)0, select((int16)-1, (int16)1, rest > (float16)0.f), away);
        values = stored16(values, r.zero_point);
        sums += values;
        store_bytes16(dst, to + i, values);
    }
    int sum = total(sums);
    for (; i < count; ++i) {
        const float x = load_quantized(src, from + i);
        int value = rounded(x, r.step, nearest(x * inverse));
        value = is_u8() ? clamp(value + r.zero_point, 0, most()) : value;
        sum += value;
        dst[to + i] = (uchar)value;
    }
    return sum;
}

// Quantises one vector with the reciprocal of the step. farthest: the largest distance of a
// quotient from an integer so far, as the bits of an f32.
static inline int16 quantize16(float16 x, float inverse, int zero_point, global uchar *dst, long to,
                               __private uint16 *farthest) {
    const float16 q = x * (float16)inverse;
    float16 whole;
    const int16 values = stored16(nearest16(q, &whole), zero_point);
    *farthest = max(*farthest, as_uint16(q - whole) & (uint16)0x7fffffff);
    store_bytes16(dst, to, values);
    return values;
}

// A quotient may be off by 255 * 3 ulp. If one is that near to a tie, the elements are quantised
// again by quantize_exactly().
static inline bool is_near_tie(uint16 farthest) {
    return as_float(largest(farthest)) > 0.4998f;
}

static inline int quantize_part(bytes src, long from, global uchar *dst, long to, long count,
                                struct range r) {
    const float inverse = 1.f / r.step;
    int16 sums = (int16)0;
    uint16 farthest = (uint16)0;
    long i = 0;
    for (; i + 16 <= count; i += 16)
        sums += quantize16(load_quantized16(src, from + i), inverse, r.zero_point, dst, to + i, &farthest);
    if (is_near_tie(farthest))
        return quantize_exactly(src, from, dst, to, count, r);
    return total(sums) + quantize_exactly(src, from + i, dst, to + i, count - i, r);
}

static inline void clear(global uchar *dst, long to, long count) {
    for (long i = 0; i < count; ++i)
        dst[to + i] = 0;
}

// Quantises a group of spec_vectors() vectors. They stay in registers between the search for the
// range and the rounding. Returns the sum of the stored values.
static inline int quantize_vectors(bytes src, long from, global uchar *dst, long to,
                                   __private struct range *result) {
    float16 x[QUANTIZE_MAX_VECTORS];
    uint16 magnitudes = (uint16)0;
    float16 low = (float16)0.f, high = (float16)0.f;
#pragma unroll
    for (int v = 0; v < spec_vectors(); ++v) {
        x[v] = load_quantized16(src, from + v * 16);
        magnitudes = max(magnitudes, as_uint16(x[v]) & (uint16)0x7fffffff);
        if (is_u8()) {
            low = greater16(-x[v], low);
            high = greater16(x[v], high);
        }
    }
    const struct range r =
        range_of_extremes(largest(magnitudes), is_u8() ? greatest(low) : 0.f, is_u8() ? greatest(high) : 0.f);
    *result = r;
    if (!r.finite) {
        clear(dst, to, spec_vectors() * 16);
        return 0;
    }
    const float inverse = 1.f / r.step;
    int16 sums = (int16)0;
    uint16 farthest = (uint16)0;
#pragma unroll
    for (int v = 0; v < spec_vectors(); ++v)
        sums += quantize16(x[v], inverse, r.zero_point, dst, to + v * 16, &farthest);
    if (is_near_tie(farthest))
        return quantize_exactly(src, from, dst, to, spec_vectors() * 16, r);
    return total(sums);
}

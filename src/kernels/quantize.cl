// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation: rows of f32, f16 or bf16 to s8 (or u8 with zero points), with a scale per group of K
// and, on request, sums of the quantised values, all in one pass over memory.
//
//   s8: scale = amax / 127, value = x / scale
//   u8: scale = (max - min) / 255 with min <= 0 <= max, zero point = -min / scale, value = x / scale + zero
//   point
//
// Divisions and roundings (half to even) are exact: the result is that of real arithmetic, whatever the
// accuracy of the device's own division. Scales are rounded to their type first, and the rounded scale is
// what divides. A group of zeros has scale 1. A group that is not finite keeps the NaN or infinity as its
// scale; its values, sum and zero point are 0.
#include "reorder_spec.h"

#define SMALLEST_F32 0x1p-126f
#define SMALLEST_F16 0x1p-14f

static inline int is_u8() {
    return HAS(QUANTIZE_ZERO_POINTS);
}

static inline uint largest(uint16 v) {
    const uint8 a = max(v.lo, v.hi);
    const uint4 b = max(a.lo, a.hi);
    const uint2 c = max(b.lo, b.hi);
    return max(c.x, c.y);
}

static inline float greatest(float16 v) {
    const float8 a = fmax(v.lo, v.hi);
    const float4 b = fmax(a.lo, a.hi);
    const float2 c = fmax(b.lo, b.hi);
    return fmax(c.x, c.y);
}

static inline int total(int16 v) {
    const int8 a = v.lo + v.hi;
    const int4 b = a.lo + a.hi;
    const int2 c = b.lo + b.hi;
    return c.x + c.y;
}

// What a group is quantised with, and whether it can be.
struct range {
    float scale, step; // as stored; 1 where nothing is divided
    int zero_point;
    bool finite;
};

// x / step, rounded half to even, from a value that is off by 1 at most: x - value * step is exact in f32.
static inline int rounded(float x, float step, int value) {
    const float rest = fma((float)-value, step, x);
    const float twice = 2.f * fabs(rest);
    const bool away = twice > step || (twice == step && (value & 1));
    return away ? value + (rest > 0.f ? 1 : -1) : value;
}

// span / steps to the nearest f32, and what is left of the span. steps * quotient is exact enough in one fma
// to correct the estimate (Markstein).
static inline float quotient(float span, float steps, __private float *rest) {
    const float inverse = steps == 127.f ? 1.f / 127.f : 1.f / 255.f;
    const float estimate = span * inverse;
    const float result = fma(fma(-steps, estimate, span), inverse, estimate);
    *rest = fma(-steps, result, span);
    return result;
}

// The scale of a group in its type: never 0 nor denormal.
static inline float scale_of(float span, float steps) {
    if (span == 0.f)
        return 1.f;
    float rest;
    float scale = quotient(span, steps, &rest);
    if (spec_scale_dt() == DT_F16) {
        if (scale < SMALLEST_F16)
            return SMALLEST_F16;
        // The quotient itself is rounded, not the f32 near it: to odd first, so that no tie appears.
        uint bits = as_uint(scale);
        if (rest != 0.f)
            bits = (rest < 0.f ? bits - 1 : bits) | 1;
        const float result = as_float((bits + 0xfff + ((bits >> 13) & 1)) & 0xffffe000);
        return result > 65504.f ? INFINITY : result;
    }
    scale = fmax(scale, SMALLEST_F32);
    if (spec_scale_dt() == DT_BF16)
        return as_float((as_uint(scale) + 0x7fff + ((as_uint(scale) >> 16) & 1)) & 0xffff0000);
    return scale;
}

static inline struct range range_of(bytes src, long from, long count) {
    uint16 magnitudes = (uint16)0;
    float16 low = (float16)0.f, high = (float16)0.f;
    long i = 0;
    for (; i + 16 <= count; i += 16) {
        const float16 x = load_float16(src, spec_src_dt(), from + i);
        magnitudes = max(magnitudes, as_uint16(x) & (uint16)0x7fffffff);
        if (is_u8()) {
            low = fmax(low, -x);
            high = fmax(high, x);
        }
    }
    uint magnitude = largest(magnitudes);
    float below = greatest(low), above = greatest(high);
    for (; i < count; ++i) {
        const float x = load_float(src, spec_src_dt(), from + i);
        magnitude = max(magnitude, as_uint(x) & 0x7fffffff);
        below = fmax(below, -x);
        above = fmax(above, x);
    }
    struct range r = {as_float(magnitude), 1.f, 0, magnitude < 0x7f800000};
    if (!r.finite)
        return r;
    r.scale = is_u8() ? scale_of(above + below, 255.f) : scale_of(as_float(magnitude), 127.f);
    // A scale that its type does not hold divides everything to 0.
    r.finite = as_uint(r.scale) < 0x7f800000;
    if (!r.finite)
        return r;
    r.step = r.scale;
    if (is_u8())
        r.zero_point = clamp(rounded(below, r.step, convert_int_rte(below / r.step)), 0, 255);
    return r;
}

static inline void store16(global uchar *dst, long to, int16 values, int zero_point) {
    if (is_u8())
        vstore16(convert_uchar16_sat(max(values + (int16)zero_point, (int16)0)), 0, dst + to);
    else
        vstore16(convert_char16_sat(values), 0, (global char *)dst + to);
}

static inline int16 stored16(int16 values, int zero_point) {
    return is_u8() ? clamp(values + (int16)zero_point, (int16)0, (int16)255) : values;
}

// Quantises count elements and returns the sum of what is stored.
static inline int quantize_part(bytes src, long from, global uchar *dst, long to, long count,
                                struct range r) {
    const float inverse = 1.f / r.step;
    int16 sums = (int16)0;
    float16 farthest = (float16)0.f; // from an integer
    long i = 0;
    for (; i + 16 <= count; i += 16) {
        const float16 q = load_float16(src, spec_src_dt(), from + i) * (float16)inverse;
        const int16 values = convert_int16_rte(q);
        farthest = fmax(farthest, fabs(q - convert_float16(values)));
        sums += stored16(values, r.zero_point);
        store16(dst, to + i, values, r.zero_point);
    }
    // q may be off by 255 * 3 ulp: a value that near to a tie is rounded from the exact remainder.
    if (greatest(farthest) > 0.4998f) {
        sums = (int16)0;
        for (i = 0; i + 16 <= count; i += 16) {
            const float16 x = load_float16(src, spec_src_dt(), from + i);
            int16 values = convert_int16_rte(x * (float16)inverse);
            const float16 rest = fma(-convert_float16(values), (float16)r.step, x);
            const float16 twice = fabs(rest) * (float16)2.f;
            const int16 away =
                (twice > (float16)r.step) | ((twice == (float16)r.step) & ((values & (int16)1) != (int16)0));
            values += select((int16)0, select((int16)-1, (int16)1, rest > (float16)0.f), away);
            sums += stored16(values, r.zero_point);
            store16(dst, to + i, values, r.zero_point);
        }
    }
    int sum = total(sums);
    for (; i < count; ++i) {
        const float x = load_float(src, spec_src_dt(), from + i);
        int value = rounded(x, r.step, convert_int_rte(x * inverse));
        value = is_u8() ? clamp(value + r.zero_point, 0, 255) : value;
        sum += value;
        dst[to + i] = (uchar)value;
    }
    return sum;
}

static inline void clear(global uchar *dst, long to, long count) {
    for (long i = 0; i < count; ++i)
        dst[to + i] = 0;
}

// Grid: items of units_per_item units; a unit is the larger of a group and a reduction, within one row.
kernel void quantize(bytes src, global uchar *dst, global const struct quantize_problem *p,
                     struct reorder_arguments args) {
    const long first = (long)get_global_id(0) * p->units_per_item;
    const long end = min(first + p->units_per_item, p->units);
    const long unit = max(p->group, p->reduction), part = min(p->group, p->reduction);
    const long units_of_row = p->k / unit;
    for (long u = first; u < end; ++u) {
        long rest = u / units_of_row;
        long from = p->src_offset + u % units_of_row * unit, to = p->dst_offset + u % units_of_row * unit;
        for (int d = p->row_ndims - 1; d >= 0; --d) {
            const long index = rest % p->row_dims[d];
            rest /= p->row_dims[d];
            from += index * p->src_strides[d];
            to += index * p->dst_strides[d];
        }
        int sum = 0;
        for (long g = 0; g < unit; g += p->group) {
            const struct range r = range_of(src, from + g, p->group);
            const long number = u * (unit / p->group) + g / p->group;
            store_float((global uchar *)args.dst_scale, spec_scale_dt(), number, r.scale);
            if (is_u8())
                ((global int *)args.dst_zp)[number] = r.zero_point;
            for (long i = 0; i < p->group; i += part) {
                if (r.finite)
                    sum += quantize_part(src, from + g + i, dst, to + g + i, part, r);
                else
                    clear(dst, to + g + i, part);
                if (HAS(QUANTIZE_REDUCTIONS) && (g + i + part) % p->reduction == 0) {
                    ((global int *)args.reductions)[(u * unit + g + i + part) / p->reduction - 1] = sum;
                    sum = 0;
                }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Groups of a row one after the other, quantised as specialisation constants say (reorder_spec.h).
#pragma once

#include "reorder/reorder_spec.h"

static inline int is_u8() {
    return HAS(QUANTIZE_ZERO_POINTS);
}

// The largest value of dst.
static inline int most() {
    return HAS(QUANTIZE_REDUCED_RANGE) ? (is_u8() ? 127 : 63) : (is_u8() ? 255 : 127);
}

#define load_quantized16(src, i) load_float16(src, spec_src_dt(), i)
#define load_quantized(src, i) load_float(src, spec_src_dt(), i)

#define SMALLEST_F32 0x1p-126f
#define SMALLEST_F16 0x1p-14f

// A scale rounded to each type that scales may have; never 0. rest has the sign of the exact quotient minus
// scale. f32 and bf16 are never denormal. A denormal f16 is rounded up, so that no value leaves its range.
static inline float scale_as_f32(float scale, float rest) {
    return fmax(scale, SMALLEST_F32);
}
static inline float scale_as_bf16(float scale, float rest) {
    const uint bits = as_uint(fmax(scale, SMALLEST_F32));
    return as_float((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
}
static inline float scale_as_f16(float scale, float rest) {
    if (scale < SMALLEST_F16) {
        const float units = scale * 0x1p24f, whole = ceil(units); // multiples of the smallest f16
        return fmax(whole == units && rest > 0.f ? whole + 1.f : whole, 1.f) * 0x1p-24f;
    }
    // The exact quotient is rounded, not the nearest f32. It is rounded to odd first (the last bit
    // stands for all lost ones), so that it does not look like a tie.
    uint bits = as_uint(scale);
    if (rest != 0.f)
        bits = (rest < 0.f ? bits - 1 : bits) | 1;
    const float result = as_float((bits + 0xfff + ((bits >> 13) & 1)) & 0xffffe000);
    return result > 65504.f ? INFINITY : result;
}

#define CASE_no(...)
#define CASE_yes(name, NAME)                                                                                 \
    case DT_##NAME:                                                                                          \
        return scale_as_##name(scale, rest);
static inline float scale_in_its_type(float scale, float rest) {
    switch (spec_scale_dt()) {
#define ZEMM_USES(name, NAME, src, weights, dst, bias, scale, ...) CASE_##scale(name, NAME)
#include "lists/types.def"
    }
    return scale;
}
#undef CASE_no
#undef CASE_yes

#include "quantize/quantize_group.h"

// In elements. part: the shorter one of a group and of what a sum is of.
struct group_lengths {
    long row, group, part, parts_of_sum;
};

// Where the next group's scale, zero point and sum are written. number: of the scale.
struct group_results {
    global uchar *scales;
    long number;
    global int *zero_points, *sums;
};

// Quantises the elements from `begin` to `end` of a row: whole groups, and all groups of their sums. from,
// to: the row's first element in src and in dst.
static inline void quantize_groups(bytes src, long from, global uchar *dst, long to, long begin, long end,
                                   __private const struct group_lengths *n,
                                   __private struct group_results *results) {
    int sum = 0;
    long parts = 0; // in the sum
    for (long g = begin; g < end; g += n->group) {
        const long end_of_group = min(g + n->group, n->row);
        const bool in_vectors = spec_vectors() && g + n->group == end_of_group;
        struct range r;
        if (in_vectors)
            sum += quantize_vectors(src, from + g, dst, to + g, &r);
        else
            r = range_of(src, from + g, end_of_group - g);
        store_float(results->scales, spec_scale_dt(), results->number++, r.scale);
        if (is_u8())
            *results->zero_points++ = r.zero_point;
        for (long i = g; i < end_of_group; i += n->part) {
            const long length = min(n->part, end_of_group - i);
            if (in_vectors)
                ; // done
            else if (r.finite)
                sum += quantize_part(src, from + i, dst, to + i, length, r);
            else
                clear(dst, to + i, length);
            const bool ends = ++parts == n->parts_of_sum || i + length == n->row;
            if (HAS(QUANTIZE_REDUCTIONS) && ends) {
                *results->sums++ = sum;
                sum = 0;
                parts = 0;
            }
        }
    }
}

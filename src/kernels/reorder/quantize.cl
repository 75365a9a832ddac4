// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation: rows of f32, f16 or bf16 to s8, or to u8 with zero points. Each group of K
// gets a scale. On request the kernel also writes sums of the quantised values. Memory is read
// once (quantize_group.h).
#define WITHOUT_SMALL_FLOATS
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

// Grid: work-items of units_per_item units. A unit is the longer of a group and a reduction, a part
// the shorter one (reorder_args.h).
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void quantize(bytes src, global uchar *dst,
                                                                    global const struct quantize_problem *p,
                                                                    struct reorder_arguments args) {
    const long first = (long)get_global_id(0) * p->units_per_item;
    const long end = min(first + p->units_per_item, p->units);
    const long group = p->group, part = p->part, parts_of_reduction = p->parts_of_reduction;
    long row = first / p->units_of_row, unit_of_row = first % p->units_of_row;
    long number = row * p->groups_of_row + unit_of_row * p->groups_of_unit;
    global int *zero_points = (global int *)args.dst_zp + number;
    global int *reductions =
        (global int *)args.reductions + row * p->reductions_of_row + unit_of_row * p->reductions_of_unit;
    for (long u = first; u < end; ++row, unit_of_row = 0) {
        long from = p->src_offset, to = p->dst_offset, rest = row;
        for (int d = p->row_ndims - 1; d >= 0; --d) {
            const long index = d ? rest % p->row_dims[d] : rest;
            rest = d ? rest / p->row_dims[d] : 0;
            from += index * p->src_strides[d];
            to += index * p->dst_strides[d];
        }
        for (; unit_of_row < p->units_of_row && u < end; ++unit_of_row, ++u) {
            const long at = unit_of_row * p->unit;
            int sum = 0;
            long parts = 0; // in the sum
            const long end_of_unit = min(at + p->unit, p->row);
            for (long g = at; g < end_of_unit; g += group) {
                const long end_of_group = min(g + group, p->row);
                const bool in_vectors = spec_vectors() && g + group == end_of_group;
                struct range r;
                if (in_vectors)
                    sum += quantize_vectors(src, from + g, dst, to + g, &r);
                else
                    r = range_of(src, from + g, end_of_group - g);
                store_float((global uchar *)args.dst_scale, spec_scale_dt(), number++, r.scale);
                if (is_u8())
                    *zero_points++ = r.zero_point;
                for (long i = g; i < end_of_group; i += part) {
                    const long length = min(part, end_of_group - i);
                    if (in_vectors)
                        ; // done
                    else if (r.finite)
                        sum += quantize_part(src, from + i, dst, to + i, length, r);
                    else
                        clear(dst, to + i, length);
                    const bool ends = ++parts == parts_of_reduction || i + length == p->row;
                    if (HAS(QUANTIZE_REDUCTIONS) && ends) {
                        *reductions++ = sum;
                        sum = 0;
                        parts = 0;
                    }
                }
            }
        }
    }
}

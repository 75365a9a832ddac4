// SPDX-License-Identifier: Apache-2.0
// Quantises up to 16 groups of spec_vectors() vectors to s8 together: what each group needs once, its largest
// value, its scale and its sum, is a lane of a vector. For CPUs; the results are those of quantize_vectors().
// src is f32, f16 or bf16, and scales are f32.
#pragma once

#include "args/quantize_args.h"
#include "arithmetic/transpose.h"
#include "problem/spec.h"

// The type of src before; 0: nothing is quantised.
SPEC_CONSTANT(quantized_dt, SPEC_QUANTIZED_DT, 0)
SPEC_CONSTANT(vectors, SPEC_QUANTIZED_VECTORS, 0)

static inline int is_u8() {
    return 0;
}
static inline int most() {
    return 127;
}
static inline float scale_in_its_type(float scale, float rest) {
    return fmax(scale, 0x1p-126f);
}
static inline float16 load_quantized16(bytes src, long i) {
    return spec_quantized_dt() == DT_F32   ? load16_f32(src, i)
           : spec_quantized_dt() == DT_F16 ? load16_f16(src, i)
                                           : load16_bf16(src, i);
}
static inline float load_quantized(bytes src, long i) {
    return spec_quantized_dt() == DT_F32   ? load_f32(src, i)
           : spec_quantized_dt() == DT_F16 ? load_f16(src, i)
                                           : load_bf16(src, i);
}

#include "quantize/quantize_group.h"

#define BLOCK_GROUPS 16

// Element j: the largest element of v[j].
static inline uint16 largest_of_lanes(__private const uint16 *v) {
    uint16 pairs[8], fours[4];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        pairs[j] = max(EVEN_ELEMENTS(v[2 * j], v[2 * j + 1]), ODD_ELEMENTS(v[2 * j], v[2 * j + 1]));
#pragma unroll
    for (int j = 0; j < 4; ++j)
        fours[j] =
            max(EVEN_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]), ODD_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]));
    const uint16 first = max(EVEN_LANES(fours[0], fours[1]), ODD_LANES(fours[0], fours[1]));
    const uint16 last = max(EVEN_LANES(fours[2], fours[3]), ODD_LANES(fours[2], fours[3]));
    return max(EVEN_LANES(first, last), ODD_LANES(first, last));
}

// The scales of groups by the bits of their largest absolute values, which are finite. As scale_of().
static inline float16 scales_of(uint16 magnitudes) {
    const float16 span = as_float16(magnitudes), inverse = (float16)(1.f / most());
    const float16 estimate = span * inverse;
    const float16 scale = fma(fma((float16)-most(), estimate, span), inverse, estimate);
    return select(fmax(scale, (float16)0x1p-126f), (float16)1.f, span == (float16)0.f);
}

// The groups one by one.
static inline void quantize_one_by_one(bytes src, long from, global uchar *dst, long to, int count,
                                       __private float *scales, __private int *sums) {
    const int length = spec_vectors() * 16;
    for (int j = 0; j < count; ++j) {
        struct range r;
        sums[j] = quantize_vectors(src, from + j * length, dst, to + j * length, &r);
        scales[j] = r.scale;
    }
}

// count: of groups, at most BLOCK_GROUPS. Writes so many scales, and sums of values.
static inline void quantize_block(bytes src, long from, global uchar *dst, long to, int count,
                                  __private float *scales, __private int *sums) {
    const int length = spec_vectors() * 16;
    uint16 lanes[BLOCK_GROUPS];
    int16 lane_sums[BLOCK_GROUPS];
#pragma unroll 1
    for (int j = 0; j < count; ++j) {
        uint16 most_of_lane = (uint16)0;
#pragma unroll
        for (int v = 0; v < spec_vectors(); ++v)
            most_of_lane = max(most_of_lane, as_uint16(load_quantized16(src, from + j * length + v * 16)) &
                                                 (uint16)0x7fffffff);
        lanes[j] = most_of_lane;
    }
#pragma unroll 1
    for (int j = count; j < BLOCK_GROUPS; ++j) {
        lanes[j] = (uint16)0;
        lane_sums[j] = (int16)0;
    }
    const uint16 magnitudes = largest_of_lanes(lanes);
    if (largest(magnitudes) >= 0x7f800000) {
        quantize_one_by_one(src, from, dst, to, count, scales, sums);
        return;
    }
    float block_scales[BLOCK_GROUPS], inverses[BLOCK_GROUPS];
    int block_sums[BLOCK_GROUPS];
    const float16 scale = scales_of(magnitudes);
    vstore16(scale, 0, block_scales);
    vstore16((float16)1.f / scale, 0, inverses);
    uint16 farthest_of_all = (uint16)0;
#pragma unroll 1
    for (int j = 0; j < count; ++j) {
        int16 lane_sum = (int16)0;
        uint16 farthest = (uint16)0;
#pragma unroll
        for (int v = 0; v < spec_vectors(); ++v) {
            const long i = j * length + v * 16;
            lane_sum += quantize16(load_quantized16(src, from + i), inverses[j], 0, dst, to + i, &farthest);
        }
        lane_sums[j] = lane_sum;
        lanes[j] = farthest;
        farthest_of_all = max(farthest_of_all, farthest);
    }
    if (HAS(FLAG_REDUCTIONS))
        vstore16(sums_of_lanes(lane_sums), 0, block_sums);
    for (int j = 0; j < (is_near_tie(farthest_of_all) ? count : 0); ++j)
        if (is_near_tie(lanes[j])) {
            const struct range r = {block_scales[j], block_scales[j], 0, true};
            block_sums[j] = quantize_exactly(src, from + j * length, dst, to + j * length, length, r);
        }
    for (int j = 0; j < count; ++j) {
        scales[j] = block_scales[j];
        sums[j] = block_sums[j];
    }
}

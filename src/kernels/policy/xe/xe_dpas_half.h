// SPDX-License-Identifier: Apache-2.0
// f16 or bf16 src by DPAS, sums in f32. Weights have the type of src, or they are integers or small
// floats. Integers minus their zero points are converted to exact values of src's type, or rounded to it
// if the zero points are floats; small floats are exact in it (xe_small_floats.h). Scales are applied to
// sums. A policy includes its loads before this, and defines
//   DPAS_F16, DPAS_BF16(src, wei, sum)   the instructions
//   LOAD_A, SPLITS_F32                   see xe_multiply.h
//   load_b                               load_halves() does most of it
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "policy/xe/xe_small_floats.h"

KNOWS(FLOATS, BIT_F32 | BIT_F16 | BIT_BF16);

static inline float8 dpas(a_rows src, int8 wei, float8 sum) {
    return spec_src_dt() == DT_F16 ? DPAS_F16(src, wei, sum) : DPAS_BF16(src, wei, sum);
}

// Integers are converted to f16 by their bits: as an f16, the bits of u are the denormal u * 2^-24.
// One fma makes (u - zero point) * 2^-9 of it, which is exact. SUM_FACTOR makes up for the 2^-9.
static inline bool is_widened_to_f16() {
    return wei_is_integer() && spec_src_dt() == DT_F16;
}
#define SUM_FACTOR (is_widened_to_f16() ? 512.f : small_float_factor())

#define SUMS fsum
#include "policy/xe/xe_multiply.h"

// Bias left by flipping the sign bit: a signed weight w becomes the unsigned w + sign_bit().
static inline int sign_bit() {
    return spec_wei_dt() == DT_S8 ? 128 : spec_wei_dt() == DT_S4 ? 8 : 0;
}

// The number that widen() subtracts: the zero point and sign_bit(). A zero point that is a float, which only
// f16 has, becomes the bits of the f16 that widen() adds.
static inline int subtrahend(column_i zp) {
    if (HAS(FLAG_FLOAT_ZP))
        return as_ushort((half)((zero_points_as_f32(zp) + (float)sign_bit()) * -0x1p-9f));
    return sign_bit() + (HAS(FLAG_WEI_ZP) ? zp : 0);
}

// Converts an integer weight to the bits of a value of src's type. bits: the unsigned weight of at
// most eight bits, shifted left by `shift`; less: see subtrahend().
static inline ushort widen(ushort bits, int shift, int less) {
    if (spec_src_dt() == DT_F16)
        return as_ushort(fma(as_half(bits), (half)(float)(1 << (15 - shift)),
                             HAS(FLAG_FLOAT_ZP) ? as_half((ushort)less) : (half)(less * -0x1p-9f)));
    return as_ushort2((float)((int)(bits >> shift) - less))
        .hi; // exact: the value has at most eight significant bits
}
static inline int pair(ushort first, ushort second) {
    return as_int((ushort2)(first, second));
}

// Converts four bytes, or four nibbles, to four values of src's type.
static inline int2 widen_bytes(int bytes, int less) {
    const ushort2 b = as_ushort2(bytes ^ (sign_bit() * 0x01010101));
    return (int2)(pair(widen(b.s0 & 0xff, 0, less), widen(b.s0 >> 8, 0, less)),
                  pair(widen(b.s1 & 0xff, 0, less), widen(b.s1 >> 8, 0, less)));
}
static inline int2 widen_nibbles(ushort nibbles, int less) {
    const ushort low = nibbles ^ (ushort)(sign_bit() * 0x1111), high = low >> 8;
    return (int2)(pair(widen(low & 15, 0, less), widen(low & 0xf0, 4, less)),
                  pair(widen(high & 15, 0, less), widen(high & 0xf0, 4, less)));
}
static inline int4 widen_ints(int nibbles, int less) {
    return (int4)(widen_nibbles(as_ushort2(nibbles).lo, less), widen_nibbles(as_ushort2(nibbles).hi, less));
}

// Converts a step of integers, 32 elements of K, to two steps of src's type.
static inline void widen_step(int8 step, int less, __private int8 *first, __private int8 *second) {
    if (wei_is_nibbles()) {
        *first = (int8)(widen_ints(step.s0, less), widen_ints(step.s1, less));
        *second = (int8)(widen_ints(step.s2, less), widen_ints(step.s3, less));
    } else {
        *first = (int8)(widen_bytes(step.s0, less), widen_bytes(step.s1, less), widen_bytes(step.s2, less),
                        widen_bytes(step.s3, less));
        *second = (int8)(widen_bytes(step.s4, less), widen_bytes(step.s5, less), widen_bytes(step.s6, less),
                         widen_bytes(step.s7, less));
    }
}

// Converts 32 elements of K of a column to two steps of the panel, `to` and the one that is NV vectors
// after it. left: elements of K until the end. A part of packed weights may be followed by NaN, which would
// spoil the products with zeros of src behind K.
static inline void convert_step(int8 from, int left, column_i wei_zp, __private panel_vec *to,
                                __private int *nan) {
    if (wei_is_integer()) {
        widen_step(from, subtrahend(wei_zp), &to[0], &to[NV]);
        return;
    }
    if (HAS(FLAG_PANEL_TAIL))
        from = first_elements(from, left);
    if (LOSES_NAN)
        *nan = note_nan(from, *nan);
    convert_small_floats(from, &to[0], &to[NV]);
}

// Loads a panel of weights that have src's type, or become it. Inlined, and columns are unrolled by hand:
// otherwise newer compilers keep the panel in memory.
static inline __attribute__((always_inline)) struct b_panel
load_halves(const struct wei_source *w, global const struct matmul_problem *p, long k0,
            __private const column_i *wei_zp, __private panel_vec *panel) {
    if (wei_bits() == 16)
        return load_steps(w, p, (int)k0, panel);
    int nan[NV] = {0};
#pragma unroll
    for (int s = 0; s < STEPS; s += 4)
        if (has_step(s)) {
            int8 first[NV], second[NV];
            read_steps(w, p, (int)k0 + s * STEP_K, has_step(s + 2), first, second);
            const int left = (int)(p->k - k0) - s * STEP_K;
#define CONVERT_COLUMN(v)                                                                                    \
    if ((v) < NV) {                                                                                          \
        convert_step(first[v], left, wei_zp[v], &panel[s * NV + (v)], &nan[v]);                              \
        if (has_step(s + 2))                                                                                 \
            convert_step(second[v], left - 32, wei_zp[v], &panel[(s + 2) * NV + (v)], &nan[v]);              \
    }
            CONVERT_COLUMN(0)
            CONVERT_COLUMN(1)
            CONVERT_COLUMN(2)
            CONVERT_COLUMN(3)
#undef CONVERT_COLUMN
        }
    if (LOSES_NAN)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            NAN_OF(panel, v) = nan[v];
    return (struct b_panel){panel};
}

// Only policies of integers need sums of weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

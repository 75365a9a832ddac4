// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX: f16 or bf16 src by DPAS, sums in f32. Weights have the type of src,
// or they are integers, which become exact values of that type, less their zero points; scales are applied to
// sums. With 8 lanes src or both may be f32, which becomes bf16 (xe_narrow.h). Builtins of DPAS:
// cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define STEP_K 16 // elements of K of one DPAS

#include "policy/xe_loads.h"
#if LANES == 8
#include "policy/xe_narrow.h"
#endif

#if LANES == 16
float8 __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(float8 sum, a_rows src, int8 wei);
float8 __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(float8 sum, a_rows src, int8 wei);
#define DPAS_F16(src, wei, sum) __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(sum, src, wei)
#define DPAS_BF16(src, wei, sum) __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(sum, src, wei)
#else
float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(int8 src, int8 wei, float8 sum);
float8 __attribute__((overloadable)) intel_sub_group_bf16_bf16_matrix_mad_k16(int8 src, int8 wei, float8 sum);
#define DPAS_F16(src, wei, sum) intel_sub_group_f16_f16_matrix_mad_k16(as_int8(src), wei, sum)
#define DPAS_BF16(src, wei, sum) intel_sub_group_bf16_bf16_matrix_mad_k16(as_int8(src), wei, sum)
#endif

static inline float8 dpas(a_rows src, int8 wei, float8 sum) {
    return spec_src_dt() == DT_F16 ? DPAS_F16(src, wei, sum) : DPAS_BF16(src, wei, sum);
}

// Integers become f16 by their bits: those of u are the denormal u * 2^-24, and (u - zero point) * 2^-9 is
// exact. What is left of the factor is up to the scales.
static inline bool is_widened_to_f16() {
    return wei_bits() != 16 && spec_src_dt() == DT_F16;
}
#define SUM_FACTOR (is_widened_to_f16() ? 512.f : 1.f)

#define SUMS fsum
#if LANES == 8
#define LOAD_A(...) (spec_src_dt() == DT_F32 ? load_narrowed(__VA_ARGS__) : load_a(__VA_ARGS__))
#else
#define LOAD_A load_a
#endif
#include "policy/xe_multiply.h"

// What weights have more than they are once signed ones have their sign bit turned.
static inline int sign_bit() {
    return spec_wei_dt() == DT_S8 ? 128 : spec_wei_dt() == DT_S4 ? 8 : 0;
}

// A weight as the bits of a value of src's type: `bits` of at most eight, `shift` of them below it; less: the
// zero point and the sign bit.
static inline ushort widen(ushort bits, int shift, int less) {
    if (spec_src_dt() == DT_F16)
        return as_ushort(fma(as_half(bits), (half)(float)(1 << (15 - shift)), (half)(less * -0x1p-9f)));
    return as_ushort2((float)((int)(bits >> shift) - less))
        .hi; // at most eight bits: the rest of the f32 is zero
}
static inline int pair(ushort first, ushort second) {
    return as_int((ushort2)(first, second));
}

// Four bytes as four values of src's type; four nibbles likewise.
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

// A step of integers, 32 of K, as two of src's type.
static inline void widen_step(int8 step, int less, __private int8 *first, __private int8 *second) {
    if (wei_is_int4()) {
        *first = (int8)(widen_ints(step.s0, less), widen_ints(step.s1, less));
        *second = (int8)(widen_ints(step.s2, less), widen_ints(step.s3, less));
    } else {
        *first = (int8)(widen_bytes(step.s0, less), widen_bytes(step.s1, less), widen_bytes(step.s2, less),
                        widen_bytes(step.s3, less));
        *second = (int8)(widen_bytes(step.s4, less), widen_bytes(step.s5, less), widen_bytes(step.s6, less),
                         widen_bytes(step.s7, less));
    }
}

#if LANES == 8
// Of two words the bytes side by side, as four pairs; nibbles likewise: for src that is narrowed.
static inline int4 widen_bytes_of(int x, int y, int less) {
    const ushort2 a = as_ushort2(x ^ (sign_bit() * 0x01010101)),
                  b = as_ushort2(y ^ (sign_bit() * 0x01010101));
    return (int4)(pair(widen(a.s0 & 0xff, 0, less), widen(b.s0 & 0xff, 0, less)),
                  pair(widen(a.s0 >> 8, 0, less), widen(b.s0 >> 8, 0, less)),
                  pair(widen(a.s1 & 0xff, 0, less), widen(b.s1 & 0xff, 0, less)),
                  pair(widen(a.s1 >> 8, 0, less), widen(b.s1 >> 8, 0, less)));
}
static inline int4 widen_nibbles_of(ushort x, ushort y, int less) {
    const ushort a = x ^ (ushort)(sign_bit() * 0x1111), b = y ^ (ushort)(sign_bit() * 0x1111);
    return (int4)(pair(widen(a & 15, 0, less), widen(b & 15, 0, less)),
                  pair(widen(a & 0xf0, 4, less), widen(b & 0xf0, 4, less)),
                  pair(widen(a >> 8 & 15, 0, less), widen(b >> 8 & 15, 0, less)),
                  pair(widen(a >> 8 & 0xf0, 4, less), widen(b >> 8 & 0xf0, 4, less)));
}
static inline int8 widen_words_of(int x, int y, int less) {
    const ushort2 a = as_ushort2(x), b = as_ushort2(y);
    return (int8)(widen_nibbles_of(a.lo, b.lo, less), widen_nibbles_of(a.hi, b.hi, less));
}

// A step of integers, 32 of K, as two of bf16 for src that is narrowed.
static inline void widen_step_apart(int8 step, int less, __private int8 *first, __private int8 *second) {
    if (wei_is_int4()) {
        *first = widen_words_of(step.s0, step.s1, less);
        *second = widen_words_of(step.s2, step.s3, less);
    } else {
        *first = (int8)(widen_bytes_of(step.s0, step.s2, less), widen_bytes_of(step.s1, step.s3, less));
        *second = (int8)(widen_bytes_of(step.s4, step.s6, less), widen_bytes_of(step.s5, step.s7, less));
    }
}

#endif

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    if (wei_bits() == 16)
        return load_steps(w, p, (int)k0, panel);
#if LANES == 8
    if (wei_bits() == 32) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                read_narrowed(w, p, (int)k0 + s * STEP_K, panel + s * NV,
                              panel + (STEPS / 2 + s % (STEPS / 2)) * NV);
        return (struct b_panel){panel};
    }
    if (spec_src_dt() == DT_F32) {
        int8 step[NV], unused[NV];
        read_steps(w, p, (int)k0, false, step, unused);
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            const int less = sign_bit() + (HAS(FLAG_WEI_ZP) ? wei_zp[v] : 0);
            widen_step_apart(step[v], less, &panel[v], &panel[NV + v]);
        }
        return (struct b_panel){panel};
    }
#endif
#pragma unroll
    for (int s = 0; s < STEPS; s += 4)
        if (has_step(s)) {
            int8 first[NV], second[NV];
            read_steps(w, p, (int)k0 + s * STEP_K, has_step(s + 2), first, second);
#pragma unroll
            for (int v = 0; v < NV; ++v) {
                const int less = sign_bit() + (HAS(FLAG_WEI_ZP) ? wei_zp[v] : 0);
                widen_step(first[v], less, &panel[s * NV + v], &panel[(s + 1) * NV + v]);
                if (has_step(s + 2))
                    widen_step(second[v], less, &panel[(s + 2) * NV + v], &panel[(s + 3) * NV + v]);
            }
        }
    return (struct b_panel){panel};
}

// Integers only.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

// SPDX-License-Identifier: Apache-2.0
// Xe-HPG, sub-groups of 8: f16 and bf16 src by DPAS (xe_dpas_half.h), and f32 src, which is
// converted to bf16 (xe_narrow.h). The builtins are those of
// cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#define STEP_K 16 // elements of K of one DPAS

#include "policy/xe/xe_1d.h"
#include "policy/xe/xe_narrow.h"

float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(int8 src, int8 wei, float8 sum);
float8 __attribute__((overloadable)) intel_sub_group_bf16_bf16_matrix_mad_k16(int8 src, int8 wei, float8 sum);
#define DPAS_F16(src, wei, sum) intel_sub_group_f16_f16_matrix_mad_k16(as_int8(src), wei, sum)
#define DPAS_BF16(src, wei, sum) intel_sub_group_bf16_bf16_matrix_mad_k16(as_int8(src), wei, sum)
#define LOAD_A(...) (spec_src_dt() == DT_F32 ? load_narrowed(__VA_ARGS__) : load_a(__VA_ARGS__))

#include "policy/xe/xe_dpas_half.h"

// For f32 src: converts the bytes, or nibbles, of two words to four pairs. Pair i has element i of
// x and element i of y.
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

// For f32 src: converts a step of integers, 32 elements of K, to two steps of bf16, in the order of
// read_narrowed().
static inline void widen_step_apart(int8 step, int less, __private int8 *first, __private int8 *second) {
    if (wei_is_nibbles()) {
        *first = widen_words_of(step.s0, step.s1, less);
        *second = widen_words_of(step.s2, step.s3, less);
    } else {
        *first = (int8)(widen_bytes_of(step.s0, step.s2, less), widen_bytes_of(step.s1, step.s3, less));
        *second = (int8)(widen_bytes_of(step.s4, step.s6, less), widen_bytes_of(step.s5, step.s7, less));
    }
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    if (wei_bits() == 32) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                read_narrowed(w, p, (int)k0 + s * STEP_K, panel + s * NV,
                              panel + (STEPS / 2 + s % (STEPS / 2)) * NV);
        return (struct b_panel){panel};
    }
    if (spec_src_dt() == DT_F32 && wei_is_integer()) {
        int8 step[NV], unused[NV];
        read_steps(w, p, (int)k0, false, step, unused);
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            const int less = subtrahend(wei_zp[v]);
            widen_step_apart(step[v], less, &panel[v], &panel[NV + v]);
        }
        return (struct b_panel){panel};
    }
    return load_halves(w, p, k0, wei_zp, panel);
}

// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX for tf32: f32 src by DPAS without conversion, because the hardware ignores
// the lower 13 bits; sums in f32. Weights are f32, or integers that are converted, minus their zero
// points, to exact values.
#pragma once

#define STEP_K 8 // elements of K of one DPAS

#include "policy/xe/xe_2d.h"

float8 __builtin_IB_sub_group16_fdpas_f_f_tf32_tf32_8_8(float8 sum, a_rows src, int8 wei);

static inline float8 dpas(a_rows src, int8 wei, float8 sum) {
    return __builtin_IB_sub_group16_fdpas_f_f_tf32_tf32_8_8(sum, src, wei);
}

#define SPLITS_F32 false
#define SUM_FACTOR 1.f
#define SUMS fsum
#define LOAD_A load_a
#include "policy/xe/xe_multiply.h"

// Converts the bytes or nibbles of an int to f32, minus their zero point.
static inline int4 widen_bytes(int bytes, int zero_point) {
    const int4 values =
        spec_wei_dt() == DT_S8 ? convert_int4(as_char4(bytes)) : convert_int4(as_uchar4(bytes));
    return as_int4(convert_float4(HAS(FLAG_WEI_ZP) ? values - (int4)zero_point : values));
}
static inline int8 widen_nibbles(int nibbles, int zero_point) {
    const int8 shifts = (int8)(28, 24, 20, 16, 12, 8, 4, 0), top = (int8)nibbles << shifts;
    const int8 values = spec_wei_dt() == DT_S4 ? top >> (int8)28 : as_int8(as_uint8(top) >> (uint8)28);
    return as_int8(convert_float8(HAS(FLAG_WEI_ZP) ? values - (int8)zero_point : values));
}

// Converts a step of integers, 32 elements of K, to four steps of f32. Steps are NV vectors apart.
static inline void widen_step(int8 step, int zero_point, __private panel_vec *to) {
    if (wei_is_nibbles()) {
        to[0] = widen_nibbles(step.s0, zero_point);
        to[NV] = widen_nibbles(step.s1, zero_point);
        to[2 * NV] = widen_nibbles(step.s2, zero_point);
        to[3 * NV] = widen_nibbles(step.s3, zero_point);
    } else {
        to[0] = (int8)(widen_bytes(step.s0, zero_point), widen_bytes(step.s1, zero_point));
        to[NV] = (int8)(widen_bytes(step.s2, zero_point), widen_bytes(step.s3, zero_point));
        to[2 * NV] = (int8)(widen_bytes(step.s4, zero_point), widen_bytes(step.s5, zero_point));
        to[3 * NV] = (int8)(widen_bytes(step.s6, zero_point), widen_bytes(step.s7, zero_point));
    }
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    if (!wei_is_integer())
        return load_steps(w, p, (int)k0, panel);
#pragma unroll
    for (int s = 0; s < STEPS; s += 4)
        if (has_step(s)) {
            int8 step[NV], unused[NV];
            read_steps(w, p, (int)k0 + s * STEP_K, false, step, unused);
#pragma unroll
            for (int v = 0; v < NV; ++v)
                widen_step(step[v], HAS(FLAG_WEI_ZP) ? wei_zp[v] : 0, &panel[s * NV + v]);
        }
    return (struct b_panel){panel};
}

// Only policies of integers need sums of weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

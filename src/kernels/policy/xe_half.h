// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX, sub-groups of 16: f16 or bf16 src by DPAS, sums in f32. Weights have the type of src,
// or they are integers, which become exact values of that type, less their zero points; scales are applied to
// sums. Builtins of DPAS: cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#define STEP_K 16 // elements of K of one DPAS

#include "policy/xe_src.h"
#include "policy/xe_wei.h"

#if LANES != 16 || ROWS != 8
#error "a DPAS of 16 lanes has 8 rows"
#endif

#define BLOCK_K spec_block_k()
#define ANY_ROW_COUNT 0
#define WEI_SHIFT 0

// Two of K of this lane's column in each int.
typedef int8 panel_vec;
#define PANEL_VECTORS (STEPS * NV)

struct b_panel {
    __private const panel_vec *steps; // [step][v]
};

float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(short8 src, int8 wei, float8 sum);
float8 __attribute__((overloadable))
intel_sub_group_bf16_bf16_matrix_mad_k16(short8 src, int8 wei, float8 sum);

static inline float8 dpas(ushort8 src, int8 wei, float8 sum) {
    return spec_src_dt() == DT_F16 ? intel_sub_group_f16_f16_matrix_mad_k16(as_short8(src), wei, sum)
                                   : intel_sub_group_bf16_bf16_matrix_mad_k16(as_short8(src), wei, sum);
}

// What unsigned weights have more than they are: signed ones have their sign bit turned.
static inline int sign_bit() {
    return spec_wei_dt() == DT_S8 ? 128 : spec_wei_dt() == DT_S4 ? 8 : 0;
}

// Two weights, in the low bits of an int, as values of src's type; less: the zero point and the sign bit.
static inline int widen_pair(int pair, int less) {
    const int bits = wei_is_int4() ? 4 : 8, mask = (1 << bits) - 1;
    const int both = (pair & mask) | ((pair << (16 - bits)) & (mask << 16));
    if (spec_src_dt() == DT_F16) {
        // 1024 and the weight are the bits of their sum.
        const half2 biased = as_half2((both ^ (sign_bit() * 0x10001)) | 0x64006400);
        return as_int(biased - (half2)(1024 + less));
    }
    const int2 values = ((int2)(both & 0xffff, both >> 16) ^ (int2)sign_bit()) - (int2)less;
    const uint2 floats = as_uint2(convert_float2(values));
    return (int)(floats.x >> 16 | (floats.y & 0xffff0000u)); // exact: at most eight bits
}

// A step of integers, 32 of K, as two of halves.
static inline void widen_step(int8 step, int less, __private int8 *first, __private int8 *second) {
    int words[16];
    const int bits = wei_is_int4() ? 4 : 8;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int at = i * 2 * bits; // of the pair, in bits
        const int word = ((__private const int *)&step)[at / 32];
        words[i] = widen_pair((int)((uint)word >> (at % 32)), less);
    }
    *first = vload8(0, words);
    *second = vload8(1, words);
}

static inline struct b_panel load_b(bytes wei, global const struct matmul_problem *p, long begin, long n0,
                                    long k0, int length, int columns, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const long tile_n0 = n0 - get_sub_group_local_id();
    const struct b_panel b = {panel};
    if (wei_bits() == 16) {
#pragma unroll
        for (int s = 0; s < STEPS; s += 2)
            if (has_step(s))
#pragma unroll
                for (int v = 0; v < NV; ++v)
                    read_steps(wei, p, begin, tile_n0 + v * LANES, (int)k0 + s * STEP_K, has_step(s + 1),
                               &panel[s * NV + v], &panel[(s + 1) * NV + v]);
        return b;
    }
#pragma unroll
    for (int s = 0; s < STEPS; s += 4)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v) {
                const int less = sign_bit() + (HAS(FLAG_WEI_ZP) ? wei_zp[v] : 0);
                int8 first, second;
                read_steps(wei, p, begin, tile_n0 + v * LANES, (int)k0 + s * STEP_K, has_step(s + 2), &first,
                           &second);
                widen_step(first, less, &panel[s * NV + v], &panel[(s + 1) * NV + v]);
                if (has_step(s + 2))
                    widen_step(second, less, &panel[(s + 2) * NV + v], &panel[(s + 3) * NV + v]);
            }
    return b;
}

// Integers only.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

// sum[v] += rows i0.. of the tile times the panel.
static inline __attribute__((always_inline)) void multiply(const int count, bytes src,
                                                           global const struct matmul_problem *p,
                                                           __private const struct tile_rows *rows, int i0,
                                                           long k0, int length, struct b_panel b,
                                                           __private vec_i *unused, __private vec_f *sum) {
    ushort8 a[STEPS];
    load_a(src, p, rows, rows->first + i0, k0, a);
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[v] = dpas(a[s], b.steps[s * NV + v], sum[v]);
}

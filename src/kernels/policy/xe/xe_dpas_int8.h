// SPDX-License-Identifier: Apache-2.0
// 8-bit src with integer weights by DPAS: of 8 and 4 bits without conversion, of 2 bits as bytes. A policy
// includes its loads before this and defines DEFINE_DPAS(a, b, b_type, registers), which declares a function
// dpas_a_b for src of type a and weights of type b. The weights of a block stay in registers while groups of
// eight rows of src are multiplied with them.
#pragma once

DEFINE_DPAS(i8, i8, int8, s8_s8)
DEFINE_DPAS(i8, u8, uint8, s8_u8)
DEFINE_DPAS(i8, i4, int4, s8_s4)
DEFINE_DPAS(i8, u4, uint4, s8_u4)
DEFINE_DPAS(u8, i8, int8, u8_s8)
DEFINE_DPAS(u8, u8, uint8, u8_u8)
DEFINE_DPAS(u8, i4, int4, u8_s4)
DEFINE_DPAS(u8, u4, uint4, u8_u4)

// Returns the result for the type of the weights. Dispatch accepts no others; for those it does
// nothing.
#define DPAS_OF(name, a, src, wei, sum)                                                                      \
    switch (spec_wei_dt()) {                                                                                 \
    case DT_S8:                                                                                              \
        return name(a, i8)(src, wei, sum);                                                                   \
    case DT_U8:                                                                                              \
    case DT_U2:                                                                                              \
        return name(a, u8)(src, as_uint8(wei), sum);                                                         \
    case DT_S4:                                                                                              \
        return name(a, i4)(src, (wei).lo, sum);                                                              \
    case DT_U4:                                                                                              \
        return name(a, u4)(src, as_uint8(wei).lo, sum);                                                      \
    }

static inline int8 dpas(a_rows src, int8 wei, int8 sum) {
#define EIGHT_ROWS(a, b) dpas_##a##_##b
    if (spec_src_dt() == DT_S8)
        DPAS_OF(EIGHT_ROWS, i8, src, wei, sum)
    if (spec_src_dt() == DT_U8)
        DPAS_OF(EIGHT_ROWS, u8, src, wei, sum)
    return sum;
}

#define ONE_ROW(a, b) intel_sub_group_##a##_##b##_matrix_mad_k32
int __attribute__((overloadable)) ONE_ROW(i8, i8)(a_row src, int8 wei, int sum);
int __attribute__((overloadable)) ONE_ROW(i8, u8)(a_row src, uint8 wei, int sum);
int __attribute__((overloadable)) ONE_ROW(i8, i4)(a_row src, int4 wei, int sum);
int __attribute__((overloadable)) ONE_ROW(i8, u4)(a_row src, uint4 wei, int sum);

// Adds the weights of each column, with DPAS: the product with one row of ones, as many as there
// are elements of K.
static inline int dpas_ones(int count, int8 wei, int sum) {
    const int before = (int)get_sub_group_local_id() * (int)sizeof(a_row); // bytes in lower lanes
    const a_row ones = (a_row)(HAS(FLAG_PANEL_TAIL) ? ones_of(count - before) : 0x01010101);
    DPAS_OF(ONE_ROW, i8, ones, wei, sum)
    return sum;
}

#define SPLITS_F32 false
#define SUM_FACTOR 1.f
#define SUMS isum
#define LOAD_A load_a
#include "policy/xe/xe_multiply.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    return load_steps(w, p, (int)k0, panel);
}

// sum[v] += the sum of the panel's column v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[v] = dpas_ones(length - s * STEP_K, b.steps[s * NV + v], sum[v]);
}

// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX: bytes of src with bytes or 4-bit weights by DPAS, as they are in memory. A block's
// weights stay in registers while groups of eight rows of src are multiplied with them.
// Builtins of DPAS: cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#define STEP_K 32 // elements of K of one DPAS

#include "policy/xe_loads.h"

#define DECLARE_DPAS(a, b, a_type, b_type)                                                                   \
    int8 __attribute__((overloadable))                                                                       \
    intel_sub_group_##a##_##b##_matrix_mad_k32(a_type src, b_type wei, int8 sum);
DECLARE_DPAS(i8, i8, a_signed8, int8)
DECLARE_DPAS(i8, u8, a_signed8, uint8)
DECLARE_DPAS(i8, i4, a_signed8, int4)
DECLARE_DPAS(i8, u4, a_signed8, uint4)
DECLARE_DPAS(u8, i8, a_unsigned8, int8)
DECLARE_DPAS(u8, u8, a_unsigned8, uint8)
DECLARE_DPAS(u8, i4, a_unsigned8, int4)
DECLARE_DPAS(u8, u4, a_unsigned8, uint4)

int __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(a_signed src, int8 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_u8_matrix_mad_k32(a_signed src, uint8 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_i4_matrix_mad_k32(a_signed src, int4 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_u4_matrix_mad_k32(a_signed src, uint4 wei, int sum);

#define DPAS_OF(a, src, wei, sum)                                                                            \
    switch (spec_wei_dt()) {                                                                                 \
    case DT_S8:                                                                                              \
        return intel_sub_group_##a##_i8_matrix_mad_k32(src, wei, sum);                                       \
    case DT_U8:                                                                                              \
        return intel_sub_group_##a##_u8_matrix_mad_k32(src, as_uint8(wei), sum);                             \
    case DT_S4:                                                                                              \
        return intel_sub_group_##a##_i4_matrix_mad_k32(src, (wei).lo, sum);                                  \
    default:                                                                                                 \
        return intel_sub_group_##a##_u4_matrix_mad_k32(src, as_uint8(wei).lo, sum);                          \
    }

static inline int8 dpas(a_unsigned8 src, int8 wei, int8 sum) {
    if (spec_src_dt() == DT_S8)
        DPAS_OF(i8, as_a_signed8(src), wei, sum)
    DPAS_OF(u8, src, wei, sum)
}

// Sums of the weights of each column: one row of ones.
static inline int dpas_ones(int8 wei, int sum) {
    DPAS_OF(i8, (a_signed)0x01010101, wei, sum)
}

#define SUMS isum
#define LOAD_A load_a
#include "policy/xe_multiply.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    return load_steps(w, p, (int)k0, panel);
}

// sum[v] += the weights of the panel, column by column.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[v] = dpas_ones(b.steps[s * NV + v], sum[v]);
}

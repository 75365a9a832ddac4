// SPDX-License-Identifier: Apache-2.0
// Xe-HPG, sub-groups of 8: 8-bit src with integer weights by DPAS (xe_dpas_int8.h). The builtins are those of
// cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#define STEP_K 32 // elements of K of one DPAS

#include "policy/xe/xe_1d.h"

typedef int8 i8_rows;
typedef uint8 u8_rows;
#define as_i8_rows(x) as_int8(x)
#define as_u8_rows(x) as_uint8(x)
#define DEFINE_DPAS(a, b, b_type, registers)                                                                 \
    int8 __attribute__((overloadable))                                                                       \
    intel_sub_group_##a##_##b##_matrix_mad_k32(a##_rows src, b_type wei, int8 sum);                          \
    static inline int8 dpas_##a##_##b(a_rows src, b_type wei, int8 sum) {                                    \
        return intel_sub_group_##a##_##b##_matrix_mad_k32(as_##a##_rows(src), wei, sum);                     \
    }

#include "policy/xe/xe_dpas_int8.h"

// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX and 2-D block loads: f16 or bf16 src by DPAS (xe_dpas_half.h).
#pragma once

#define STEP_K 16 // elements of K of one DPAS

#include "policy/xe/xe_2d.h"

float8 __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(float8 sum, a_rows src, int8 wei);
float8 __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(float8 sum, a_rows src, int8 wei);
#define DPAS_F16(src, wei, sum) __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(sum, src, wei)
#define DPAS_BF16(src, wei, sum) __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(sum, src, wei)
#define LOAD_A load_a
#define SPLITS_F32 false

#include "policy/xe/xe_dpas_half.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    return load_halves(w, p, k0, wei_zp, panel);
}

// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX and 2-D block loads: 8-bit src with integer weights by DPAS (xe_dpas_int8.h).
#pragma once

#define STEP_K 32 // elements of K of one DPAS

#include "policy/xe/xe_2d.h"

#define DEFINE_DPAS(a, b, b_type, registers)                                                                 \
    int8 __builtin_IB_sub_group16_idpas_##registers##_8_8(int8 sum, a_rows src, b_type wei);                 \
    static inline int8 dpas_##a##_##b(a_rows src, b_type wei, int8 sum) {                                    \
        return __builtin_IB_sub_group16_idpas_##registers##_8_8(sum, src, wei);                              \
    }

#include "policy/xe/xe_dpas_int8.h"

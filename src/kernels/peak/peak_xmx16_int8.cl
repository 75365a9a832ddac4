// SPDX-License-Identifier: Apache-2.0
// Measures the rate of DPAS on bytes, in sub-groups of 16.

int8 __builtin_IB_sub_group16_idpas_u8_s8_8_8(int8 sum, uint4 src, int8 wei);

typedef int8 sum_vec;
#define LANES 16
#define MULTIPLY_ADD(sum, a, b) __builtin_IB_sub_group16_idpas_u8_s8_8_8(sum, as_uint4((a).lo), b)
#include "peak/peak_loop.h"

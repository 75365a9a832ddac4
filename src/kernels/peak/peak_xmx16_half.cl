// SPDX-License-Identifier: Apache-2.0
// Measures the rate of DPAS on bf16, in sub-groups of 16.

float8 __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(float8 sum, uint4 src, int8 wei);

typedef float8 sum_vec;
#define LANES 16
#define MULTIPLY_ADD(sum, a, b) __builtin_IB_sub_group16_fdpas_f_f_bf_bf_8_8(sum, as_uint4((a).lo), b)
#include "peak/peak_loop.h"

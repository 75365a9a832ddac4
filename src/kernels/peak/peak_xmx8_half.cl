// SPDX-License-Identifier: Apache-2.0
// Measures the rate of DPAS on bf16, in sub-groups of 8.

float8 __attribute__((overloadable)) intel_sub_group_bf16_bf16_matrix_mad_k16(int8 src, int8 wei, float8 sum);

typedef float8 sum_vec;
#define LANES 8
#define MULTIPLY_ADD(sum, a, b) intel_sub_group_bf16_bf16_matrix_mad_k16(a, b, sum)
#include "peak/peak_loop.h"

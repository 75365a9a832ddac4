// SPDX-License-Identifier: Apache-2.0
// Measures the rate of DPAS on bytes, in sub-groups of 8.

int8 __attribute__((overloadable)) intel_sub_group_u8_i8_matrix_mad_k32(uint8 src, int8 wei, int8 sum);

typedef int8 sum_vec;
#define LANES 8
#define MULTIPLY_ADD(sum, a, b) intel_sub_group_u8_i8_matrix_mad_k32(as_uint8(a), b, sum)
#include "peak/peak_loop.h"

// SPDX-License-Identifier: Apache-2.0
// Measures the rate of f32 multiply-adds on 256 bits.

typedef float8 factor_vec;
typedef float8 sum_vec;
#define SUMS 12 // with the factors nearly all of 16 registers
#define MULTIPLY_ADD(sum, a, b) fma(a, b, sum)
#include "peak/peak_loop.h"

// SPDX-License-Identifier: Apache-2.0
// Measures the rate of f32 multiply-adds on 512 bits.

typedef float16 factor_vec;
typedef float16 sum_vec;
#define SUMS 28 // with the factors nearly all of 32 registers
#define MULTIPLY_ADD(sum, a, b) fma(a, b, sum)
#include "peak/peak_loop.h"

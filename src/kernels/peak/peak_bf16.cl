// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AVX512_BF16 multiply-adds: bf16 by bf16 to f32, on 512 bits.

float16 __attribute__((overloadable))
vdpbf16ps(float16 sum, int16 a, int16 b) __asm("llvm.x86.avx512bf16.dpbf16ps.512");

typedef int16 factor_vec;
typedef float16 sum_vec;
#define SUMS 28 // with the factors nearly all of 32 registers
#define MULTIPLY_ADD(sum, a, b) vdpbf16ps(sum, a, b)
#include "peak/peak_loop.h"

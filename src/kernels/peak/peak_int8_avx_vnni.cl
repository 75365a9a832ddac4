// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AVX-VNNI multiply-adds: u8 by s8 to s32, on 256 bits.

int8 __attribute__((overloadable)) vpdpbusd(int8 sum, int8 u, int8 s) __asm("llvm.x86.avx512.vpdpbusd.256");

typedef int8 factor_vec;
typedef int8 sum_vec;
#define SUMS 12 // with the factors nearly all of 16 registers
#define MULTIPLY_ADD(sum, a, b) vpdpbusd(sum, a, b)
#include "peak/peak_loop.h"

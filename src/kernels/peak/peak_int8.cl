// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AVX512-VNNI multiply-adds: u8 by s8 to s32, on 512 bits.

int16 __attribute__((overloadable))
vpdpbusd(int16 sum, int16 u, int16 s) __asm("llvm.x86.avx512.vpdpbusd.512");

typedef int16 factor_vec;
typedef int16 sum_vec;
#define SUMS 28 // with the factors nearly all of 32 registers
#define MULTIPLY_ADD(sum, a, b) vpdpbusd(sum, a, b)
#include "peak/peak_loop.h"

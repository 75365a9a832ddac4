// SPDX-License-Identifier: Apache-2.0
// Measures the rate of exact multiply-adds of bytes with AVX2: of 16-bit integers, by two instructions.

int8 __attribute__((overloadable)) vpmaddwd(short16 x, short16 y) __asm("llvm.x86.avx2.pmadd.wd");

// The sum is a factor, too: the compiler would take the product of two others out of the loop.
typedef int8 factor_vec;
typedef int8 sum_vec;
#define SUMS 12 // with the factors nearly all of 16 registers
#define MULTIPLY_ADD(sum, a, b) ((sum) + vpmaddwd(as_short16(sum), as_short16(a)))
#include "peak/peak_loop.h"

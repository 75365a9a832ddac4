// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, in vectors of 256 bits (AVX2 with FMA).
#pragma once

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

#include "owner/work_item.h"

// The values of f4 without their signs are looked up in a register. vpermps takes the low three bits.
vec_f __attribute__((overloadable)) vpermps8(vec_f table, vec_i index) __asm("llvm.x86.avx2.permps");
#define CAN_LOOK_UP true
#define LOOK_UP_f4_e2m1(codes)                                                                               \
    as_vec_f(as_vec_i(vpermps8((vec_f)(0.f, 0.5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f), codes)) | (codes & 8) << 28)

// For few rows by packed f8.
#if TILE_M == ROWS
#define WITH_F8_PAIRS
#endif

#include "policy/cpu/fma.h"

// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products with vpdpbusd on 256 bits (AVX-VNNI, or AVX512-VNNI with VL).
#pragma once

#include "owner/work_item.h"

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

vec_i __attribute__((overloadable))
vpdpbusd(vec_i sum, vec_i u, vec_i s) __asm("llvm.x86.avx512.vpdpbusd.256");
#define DOT(sum, u, s) vpdpbusd(sum, u, s)

#include "policy/cpu/int8.h"

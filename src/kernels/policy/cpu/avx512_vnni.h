// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products with vpdpbusd on 512 bits (AVX512-VNNI).
#pragma once

#include "owner/work_item.h"

#if LANES != 16
#error "512 bits are 16 lanes"
#endif

vec_i __attribute__((overloadable))
vpdpbusd(vec_i sum, vec_i u, vec_i s) __asm("llvm.x86.avx512.vpdpbusd.512");
#define DOT(sum, u, s) vpdpbusd(sum, u, s)

#define PREFETCHES_DST 1

#include "policy/cpu/int8.h"

// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products with AVX2, which has no instruction for them: two vpmaddwd multiply the even
// and the odd bytes, widened to 16 bits. The result is exact: the sum of two products of bytes fits
// into s32.
#pragma once

#include "owner/work_item.h"

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

vec_i __attribute__((overloadable)) vpmaddwd(short16 x, short16 y) __asm("llvm.x86.avx2.pmadd.wd");

static inline vec_i dot_bytes(vec_i sum, vec_i u, vec_i s) {
    const ushort16 unsigned_bytes = as_ushort16(u);
    const short16 signed_bytes = as_short16(s);
    const vec_i even =
        vpmaddwd(as_short16(unsigned_bytes & (ushort16)0xff), (signed_bytes << (short16)8) >> (short16)8);
    const vec_i odd = vpmaddwd(as_short16(unsigned_bytes >> (ushort16)8), signed_bytes >> (short16)8);
    return sum + even + odd;
}
#define DOT(sum, u, s) dot_bytes(sum, u, s)

#include "policy/int8.h"

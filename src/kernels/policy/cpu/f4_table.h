// SPDX-License-Identifier: Apache-2.0
// The values of f4 in a register (AVX512F).
#pragma once

#include "owner/work_item.h"

// Looks an f32 up in a table of 16. It takes the low four bits of each element as the index and ignores
// the others.
vec_f __attribute__((overloadable)) vpermps(vec_f table, vec_i index) __asm("llvm.x86.avx512.permvar.sf.512");

static inline vec_f look_up_f4(vec_i codes) {
    return vpermps(
        (vec_f)(0.f, 0.5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f, -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f),
        codes);
}
#define LOOK_UP_f4_e2m1(codes) look_up_f4(codes)

// 16 neighbours in 8 bytes.
static inline float16 load_f4_16(bytes p) {
    const int2 words = vload2(0, (global const int *)p);
    return look_up_f4((int16)((int8)(words.x), (int8)(words.y)) >>
                      (int16)(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28));
}

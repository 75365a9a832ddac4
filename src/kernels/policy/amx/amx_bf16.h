// SPDX-License-Identifier: Apache-2.0
// bf16 by bf16 or by integers, by the tiles of AMX; f32 becomes bf16, where the fpmath mode allows that, and
// f16 the sum of two: that of src in a launch before (widen_src.cl), that of the weights in the panel.
#pragma once

#include "policy/amx/tiles.h"

#define WITH_TABLES
#define CAN_LOOK_UP (!tiles_in_software()) // CPUs with AMX have AVX512_VBMI
#include "arithmetic/halves.h"
#include "policy/cpu/bf16.h"

#define PARTS 2
#define SPLITS_SRC HAS(FLAG_SPLIT)
#define SPLITS_WEI (spec_wei_dt() == DT_F16)
// Integers, f8_e4m3 and f4_e2m1 are never infinite.
#define MAY_MISS_INFINITY                                                                                    \
    (SPLITS_WEI ||                                                                                           \
     (SPLITS_SRC && !wei_is_integer() && spec_wei_dt() != DT_F8_E4M3 && spec_wei_dt() != DT_F4_E2M1))

// Words of the upper halves of f32.
static inline vec_i upper_halves(float16 first, float16 second) {
    return as_int16(as_uint16(first) >> 16) | (as_int16(second) & (int)0xffff0000);
}

// The second parts are as far behind the first ones as a panel is long.
static inline void put_words(__private vec_i *to, float16 first, float16 second) {
    if (!SPLITS_WEI) {
        *to = as_int16(half_bits(first) | half_bits(second) << 16);
        return;
    }
    *to = upper_halves(first_part(first), first_part(second));
    to[TILE_K / 2 * NV] = upper_halves(second_part(first), second_part(second));
}
#define PUT_WORDS(panel, i, first, second) put_words(panel + (i), first, second)

TILE_INTRINSIC x86_tdpbf16ps(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbf16ps");
#define TILE_PRODUCT(sum, src, wei) x86_tdpbf16ps(sum, src, wei)

#include "policy/amx/amx_words.h"

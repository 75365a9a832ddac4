// SPDX-License-Identifier: Apache-2.0
// The signedness of panels for policies that widen 8-bit weights to 16 bits, and multiply 4-bit
// weights as unsigned with signed bytes. The host does the same to the zero points
// (src/matmul/plan/make_plan.cpp): bytes keep their values, and so do 4-bit weights, but
//   src s8: s4 becomes s4 + 8
// With FLAG_REDUCED_RANGE 8-bit weights are multiplied as unsigned with signed bytes, too:
//   src s8: s8 becomes s8 + 128
//   src u8: u8 becomes u8 - 128
#pragma once

#include "policy/cpu/work_item_wei.h"
#include "problem/spec.h"

static inline bool flips_bytes() {
    return HAS(FLAG_REDUCED_RANGE) && !wei_is_small_int() && wei_is_signed() == src_is_signed();
}

// A weight minus its value in the panel.
static inline int wei_shift() {
    if (flips_bytes())
        return src_is_signed() ? -128 : 128;
    return spec_wei_dt() == DT_S4 && src_is_signed() ? -8 : 0;
}

// Whether a tile may have several groups of rows, whose panel of 8-bit weights has 16 bits then.
static inline bool panel_has_words() {
    return TILE_M > ROWS && !HAS(FLAG_ONE_GROUP) && !wei_is_small_int() && !HAS(FLAG_REDUCED_RANGE);
}

// Whether packed weights are multiplied from where they are in memory: they need no conversion, or
// they are used only once.
static inline bool wei_in_place() {
    return spec_wei_unit() == UNIT_PACKED &&
           (HAS(FLAG_ONE_GROUP) || !(wei_is_small_int() || flips_bytes() || panel_has_words()));
}

// Converts quads of weights to the signedness that is multiplied. 4-bit values are in the low
// halves of the bytes.
#define DEFINE_TO_DOMAIN(T)                                                                                  \
    static inline __attribute__((overloadable)) T to_domain(T quads) {                                       \
        if (flips_bytes())                                                                                   \
            return quads ^ (int)0x80808080;                                                                  \
        if (spec_wei_dt() != DT_S4)                                                                          \
            return quads;                                                                                    \
        quads ^= 0x08080808;                                                                                 \
        return src_is_signed() ? quads : (quads + 0x78787878) ^ (int)0x80808080;                             \
    }
DEFINE_TO_DOMAIN(int)
DEFINE_TO_DOMAIN(vec_i)
DEFINE_TO_DOMAIN(int16)

// SPDX-License-Identifier: Apache-2.0
// The signedness of panels for dot products of unsigned with signed bytes: the bytes of the panel
// get the signedness that src does not have. The host does the same to the zero points
// (src/matmul/plan/make_plan.cpp):
//   src s8: bytes are unsigned, u8 as they are, s8 + 128, u4 and u2 as they are, s4 + 8
//   src u8: bytes are signed,   u8 - 128, s8 as they are, u4 and u2 as they are, s4 as they are
#pragma once

#include "policy/cpu/work_item_wei.h"
#include "problem/spec.h"

// A weight minus its byte in the panel.
static inline int wei_shift() {
    switch (spec_wei_dt()) {
    case DT_S8:
        return src_is_signed() ? -128 : 0;
    case DT_U8:
        return src_is_signed() ? 0 : 128;
    case DT_S4:
        return src_is_signed() ? -8 : 0;
    case DT_U4:
    case DT_U2:
        return 0;
    }
    return 0; // dispatch lets no other type through
}

// Whether packed weights are multiplied from where they are in memory: they need no conversion, or
// they are used only once.
static inline bool wei_in_place() {
    return spec_wei_unit() == UNIT_PACKED &&
           (HAS(FLAG_ONE_GROUP) || spec_wei_dt() == (src_is_signed() ? DT_U8 : DT_S8));
}

// Converts quads of weights to the signedness that is multiplied. 4-bit values are in the low
// halves of the bytes.
#define DEFINE_TO_DOMAIN(T)                                                                                  \
    static inline __attribute__((overloadable)) T to_domain(T quads) {                                       \
        switch (spec_wei_dt()) {                                                                             \
        case DT_S4:                                                                                          \
            quads ^= 0x08080808;                                                                             \
            return src_is_signed() ? quads : (quads + 0x78787878) ^ (int)0x80808080;                         \
        case DT_U4:                                                                                          \
        case DT_U2:                                                                                          \
            return quads;                                                                                    \
        case DT_S8:                                                                                          \
        case DT_U8:                                                                                          \
            return (spec_wei_dt() == DT_S8) == src_is_signed() ? quads ^ (int)0x80808080 : quads;            \
        }                                                                                                    \
        return quads;                                                                                        \
    }
DEFINE_TO_DOMAIN(int)
DEFINE_TO_DOMAIN(vec_i)
#if LANES != 16
DEFINE_TO_DOMAIN(int16)
#endif

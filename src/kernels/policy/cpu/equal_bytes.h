// SPDX-License-Identifier: Apache-2.0
// The signedness of panels for dot products that take signed and unsigned bytes alike: 8-bit and
// 4-bit weights keep their values.
#pragma once

#include "policy/cpu/work_item_wei.h"
#include "problem/spec.h"

// Whether packed weights are multiplied from where they are in memory.
static inline bool wei_in_place() {
    return spec_wei_unit() == UNIT_PACKED && !wei_is_small_int();
}

// Extends the sign of s4 values, which are in the low halves of the bytes.
#define DEFINE_TO_DOMAIN(T)                                                                                  \
    static inline __attribute__((overloadable)) T to_domain(T quads) {                                       \
        const T signs = quads & 0x08080808;                                                                  \
        return spec_wei_dt() == DT_S4 ? quads | ((signs << 5) - (signs << 1)) : quads;                       \
    }
DEFINE_TO_DOMAIN(int)
DEFINE_TO_DOMAIN(int16)

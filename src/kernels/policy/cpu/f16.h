// SPDX-License-Identifier: Apache-2.0
// f16 in the words of policy/cpu/words.h.
#pragma once

#include "owner/work_item.h"
#include "policy/cpu/float_panel.h"

#define WORD_DT DT_F16

// Rounded to nearest even.
static inline uint16 half_bits(float16 x) {
    ushort16 halves;
    vstore_half16_rte(x, 0, (__private half *)&halves);
    return convert_uint16(halves);
}

// e5m2 is the upper half of an f16. Values of the other types but 0 and NaN are normal.
KNOWS(SMALL_FLOATS, BIT_F8_E5M2 | BIT_F8_E4M3 | BIT_F4_E2M1);
static inline uint16 halves_of_codes(int16 codes) {
    if (spec_wei_dt() == DT_F8_E5M2)
        return as_uint16(codes) << 8;
    const uint16 bits = as_uint16(values_of_codes(codes)), magnitude = bits & 0x7fffffff;
    const uint16 finite = magnitude == (uint16)0 ? (uint16)0 : (magnitude >> 13) - (112 << 10);
    return (magnitude > (uint16)0x7f800000 ? (uint16)0x7e00 : finite) | (bits >> 16 & 0x8000);
}

static inline float16 first_of_words(int16 words) {
    const ushort16 halves = convert_ushort16(as_uint16(words) & 0xffff);
    return vload_half16(0, (__private const half *)&halves);
}
static inline float16 second_of_words(int16 words) {
    const ushort16 halves = convert_ushort16(as_uint16(words) >> 16);
    return vload_half16(0, (__private const half *)&halves);
}

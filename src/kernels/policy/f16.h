// SPDX-License-Identifier: Apache-2.0
// f16 in the words of policy/words.h.
#pragma once

#include "owner/work_item.h"

#define WORD_DT DT_F16

// Rounded to nearest even.
static inline uint16 half_bits(float16 x) {
    ushort16 halves;
    vstore_half16_rte(x, 0, (__private half *)&halves);
    return convert_uint16(halves);
}

static inline float16 first_of_words(int16 words) {
    const ushort16 halves = convert_ushort16(as_uint16(words) & 0xffff);
    return vload_half16(0, (__private const half *)&halves);
}
static inline float16 second_of_words(int16 words) {
    const ushort16 halves = convert_ushort16(as_uint16(words) >> 16);
    return vload_half16(0, (__private const half *)&halves);
}

#include "policy/words.h"

// SPDX-License-Identifier: Apache-2.0
// bf16 in the words of policy/cpu/words.h.
#pragma once

#include "owner/work_item.h"
#include "policy/cpu/float_panel.h"

#define WORD_DT DT_BF16

static inline uint16 half_bits(float16 x) {
    return bf16_bits(x);
}

static inline uint16 halves_of_codes(int16 codes) {
    return as_uint16(values_of_codes(codes)) >> 16;
}

static inline float16 first_of_words(int16 words) {
    return as_float16(words << 16);
}
static inline float16 second_of_words(int16 words) {
    return as_float16(words & (int)0xffff0000);
}

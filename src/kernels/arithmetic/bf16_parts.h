// SPDX-License-Identifier: Apache-2.0
// An f16 as the sum of two bf16. It has 11 digits and a bf16 has 8, so both are exact. Both have the value's
// sign or are 0. The parts of infinity are infinity and 0, the second part of NaN is NaN.
#pragma once

static inline float16 first_part(float16 x) {
    return as_float16(as_int16(x) & (int)0xffff0000);
}
static inline float16 second_part(float16 x) {
    const float16 first = first_part(x);
    return x == first ? (float16)0 : x - first;
}

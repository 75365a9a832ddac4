// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding, as in oneDNN.
#pragma once

// Adds a random number to x below the digits that stay, and cuts the rest off. random: the number, in the
// bits of `dropped`, which are those of an f32 that do not stay. most, smallest: the largest and the
// smallest normal value of the result's type.
static inline float round_at_random(float x, uint random, uint dropped, float most, float smallest) {
    const float cut = as_float((as_uint(x) + random) & ~dropped);
    const float rounded = clamp(cut, -most, most);
    if (isnan(x))
        return x;
    return rounded != 0.f && fabs(rounded) < smallest ? 0.f : rounded;
}

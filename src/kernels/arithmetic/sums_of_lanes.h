// SPDX-License-Identifier: Apache-2.0
// Adds up the lanes of 16 vectors, for products whose lanes are neighbours along K.
#pragma once

#include "arithmetic/transpose.h"

// Element j of the result: the sum of all elements of lanes[j].
#define DEFINE_SUMS_OF_LANES(T)                                                                              \
    static inline __attribute__((overloadable)) T sums_of_lanes(__private const T *lanes) {                  \
        T pairs[8], fours[4];                                                                                \
        _Pragma("unroll") for (int j = 0; j < 8; ++j) pairs[j] =                                             \
            EVEN_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]) + ODD_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]);    \
        _Pragma("unroll") for (int j = 0; j < 4; ++j) fours[j] =                                             \
            EVEN_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]) + ODD_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]);    \
        const T first = EVEN_LANES(fours[0], fours[1]) + ODD_LANES(fours[0], fours[1]);                      \
        const T last = EVEN_LANES(fours[2], fours[3]) + ODD_LANES(fours[2], fours[3]);                       \
        return EVEN_LANES(first, last) + ODD_LANES(first, last);                                             \
    }
DEFINE_SUMS_OF_LANES(int16)
DEFINE_SUMS_OF_LANES(float16)

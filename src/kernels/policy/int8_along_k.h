// SPDX-License-Identifier: Apache-2.0
// Few rows of src and 8-bit or 4-bit weights that are contiguous along K (FLAG_ALONG_K). Dot
// products take 64 elements of K at a time; their 16 lanes are added up at the end of a block. No
// panel is made, and each weight is read once.
#pragma once

#include "policy/int8_panel.h"

#if LANES == 16

// Element j of the result: the sum of all elements of lanes[j].
static inline int16 sums_of_lanes(__private int16 *lanes) {
    int16 pairs[8], fours[4];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        pairs[j] =
            EVEN_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]) + ODD_ELEMENTS(lanes[2 * j], lanes[2 * j + 1]);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        fours[j] =
            EVEN_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]) + ODD_ELEMENTS(pairs[2 * j], pairs[2 * j + 1]);
    const int16 first = EVEN_LANES(fours[0], fours[1]) + ODD_LANES(fours[0], fours[1]);
    const int16 last = EVEN_LANES(fours[2], fours[3]) + ODD_LANES(fours[2], fours[3]);
    return EVEN_LANES(first, last) + ODD_LANES(first, last);
}

// sum += the 16 columns from n on times one row of src, or times ones if src is 0. src: the row
// from the block's first element on; first: the element offset of the block's weights. Columns past
// the end repeat the last one.
static inline int16 dot_along_k(int16 sum, bytes wei, tensor t, long first, int n, int columns, int length,
                                bytes src) {
    int16 lanes[16];
    long column[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        lanes[j] = 0;
        column[j] = first + min(n + j, columns - 1) * t->column;
    }
#pragma unroll 1
    for (int k = 0; k < length; k += 64) {
        const int16 a = src ? vload16(0, (global const int *)(src + k)) : (int16)0x01010101;
#pragma unroll
        for (int j = 0; j < 16; ++j)
            lanes[j] = dot_quads(lanes[j], to_domain(load_quads_along_k(wei, column[j] + k)), a);
    }
    return sum + sums_of_lanes(lanes);
}

#endif

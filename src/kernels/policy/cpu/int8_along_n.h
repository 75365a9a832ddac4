// SPDX-License-Identifier: Apache-2.0
// A few rows of src and 64 columns of 8-bit or 4-bit weights that are contiguous along N. No panel is made:
// the quads of four rows of K are multiplied as they come out of registers. Their columns are not in order,
// so the sums are put into order at the end of a block.
#pragma once

#include "policy/cpu/int8_panel.h"
#include "policy/shared/prefetch.h"

#if LANES == 16 && TILE_N == 64

// sum[i * NV + v] += row i of src times the 16 columns of vector v, or ones times them if `ones`. rows: the
// element offset of each row in src; first: that of the block's weights. ahead: elements from the block to
// the next one in the order of work.
static inline __attribute__((always_inline)) void
multiply_along_n(const int count, const bool ones, bytes src, __private const long *rows, long k0, bytes wei,
                 tensor t, long first, int length, long ahead, __private int16 *sum) {
    int16 own[ROWS * 4];
#pragma unroll
    for (int i = 0; i < count * 4; ++i)
        own[i] = 0;
    long at = first;
#pragma unroll 1
    for (int k = 0; k < length; k += 4) {
        int16 quads[4];
        quads_of_columns(wei, at, t->row, quads);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            prefetch_line_l2(wei + (at + ahead + j * t->row) * wei_bits() / 8);
        at += 4 * t->row;
#pragma unroll
        for (int v = 0; v < 4; ++v)
            quads[v] = to_domain(quads[v]);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int16 a = ones ? (int16)0x01010101 : (int16)(*(global const int *)(src + rows[i] + k0 + k));
#pragma unroll
            for (int v = 0; v < 4; ++v)
                own[i * 4 + v] = dot_quads(own[i * 4 + v], quads[v], a);
        }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
        order_columns(own + i * 4);
#pragma unroll
        for (int v = 0; v < 4; ++v)
            sum[i * NV + v] += own[i * 4 + v];
    }
}

#endif

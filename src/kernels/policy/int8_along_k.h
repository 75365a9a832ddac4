// SPDX-License-Identifier: Apache-2.0
// Few rows of src and 8-bit or 4-bit weights that are contiguous along K (FLAG_ALONG_K). Dot
// products take 64 elements of K at a time; their 16 lanes are added up at the end of a block. No
// panel is made, and each weight is read once.
#pragma once

#include "policy/int8_panel.h"
#include "policy/prefetch.h"
#include "policy/sums_of_lanes.h"

#if LANES == 16

// lanes[i * 16 + j]: row i of src times column n + j, for `abreast` columns, over `length` elements from k0
// on. A row of ones if `ones`. Columns past the end repeat the last one. Weights `ahead` elements further on
// are prefetched.
static inline __attribute__((always_inline)) void
multiply_columns(const int count, const int abreast, const bool ones, bytes src, __private const long *rows,
                 long k0, bytes wei, tensor t, long first, int n, int columns, int length, long ahead,
                 __private int16 *lanes) {
    int16 own[ROWS * 4], w[8];
    long column[8];
    column[0] = first + min(n, columns - 1) * t->column;
#pragma unroll
    for (int j = 1; j < abreast; ++j)
        column[j] = column[j - 1] + (n + j < columns ? t->column : 0);
#pragma unroll
    for (int i = 0; i < count * abreast; ++i)
        own[i] = 0;
#pragma unroll 1
    for (int k = 0; k < length; k += 64) {
#pragma unroll
        for (int j = 0; j < abreast; ++j) {
            w[j] = to_domain(load_quads_along_k(wei, column[j] + k));
            prefetch_line_l2(wei + (column[j] + k + ahead) * wei_bits() / 8);
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int16 a =
                ones ? (int16)0x01010101 : vload16(0, (global const int *)(src + rows[i] + k0 + k));
#pragma unroll
            for (int j = 0; j < abreast; ++j)
                own[i * abreast + j] = dot_quads(own[i * abreast + j], w[j], a);
        }
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
        for (int j = 0; j < abreast; ++j)
            lanes[i * 16 + j] = own[i * abreast + j];
}

// sum[i * NV + v] += row i of src times the 16 columns of vector v, or ones times them if `ones`.
// rows: the element offset of each row in src; first: that of the block's weights. Columns past the
// end repeat the last one. ahead: from the block to the next one in the order of work.
static inline __attribute__((always_inline)) void
multiply_along_k(const int count, const bool ones, bytes src, __private const long *rows, long k0, bytes wei,
                 tensor t, long first, int columns, int length, long ahead, __private int16 *sum) {
    // Columns at once: their sums and addresses stay in registers.
    const int abreast = count <= 2 ? 8 : count <= 4 ? 4 : 2;
#pragma unroll 1
    for (int v = 0; v < NV; ++v) {
        int16 lanes[ROWS * 16];
        if (count == 1) {
#pragma unroll
            for (int n = 0; n < 16; n += abreast)
                multiply_columns(count, abreast, ones, src, rows, k0, wei, t, first, v * LANES + n, columns,
                                 length, ahead, lanes + n);
        } else {
#pragma unroll 1
            for (int n = 0; n < 16; n += abreast)
                multiply_columns(count, abreast, ones, src, rows, k0, wei, t, first, v * LANES + n, columns,
                                 length, ahead, lanes + n);
        }
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            sum[i * NV + v] += sums_of_lanes(lanes + 16 * i);
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Few rows of src and 8-bit or 4-bit weights that are contiguous along K (FLAG_ALONG_K). Dot
// products take 64 elements of K at a time; their 16 lanes are added up at the end of a block. No
// panel is made, and each weight is read once.
#pragma once

#include "arithmetic/transpose.h"
#include "policy/cpu/int8_panel.h"
#include "policy/shared/prefetch.h"

#if LANES == 16

// Elements of src for 64 weights of a column. The host lets only K through that has whole ones.
#define ROW_PIECES (BLOCK_ALONG_K / 64)

// Loads 64 contiguous elements of K of one column. Of 4-bit types those with even numbers come first, of
// 2-bit types each fourth one, from the first, second, third and fourth on.
static inline int16 load_64_along_k(bytes wei, long i) {
    if (!wei_is_small_int())
        return vload16(0, (global const int *)(wei + i));
    if (wei_bits() == 2)
        return planes_of_quarters(wei + (i >> 2));
    const int8 pairs = vload8(0, (global const int *)(wei + (i >> 1)));
    const uint16 shifts = (uint16)((uint8)0, (uint8)4);
    return as_int16(as_uint16((int16)(pairs, pairs)) >> shifts) & 0x0f0f0f0f;
}

// Brings `length` elements of a row of src into the order of load_64_along_k() for types of 4 and 2 bits.
static inline void order_pieces(bytes row, int length, __private int16 *pieces) {
#pragma unroll 1
    for (int k = 0; k < length; k += 64) {
        if (wei_bits() == 2) {
            const uint16 fours = vload16(0, (global const uint *)(row + k));
            pieces[k / 64] =
                (int16)(as_int4(convert_uchar16(fours & 0xff)), as_int4(convert_uchar16(fours >> 8 & 0xff)),
                        as_int4(convert_uchar16(fours >> 16 & 0xff)), as_int4(convert_uchar16(fours >> 24)));
            continue;
        }
        const ushort16 a = vload16(0, (global const ushort *)(row + k));
        const ushort16 b = vload16(1, (global const ushort *)(row + k));
        const int4 even_a = as_int4(convert_uchar16(a & (ushort)0xff)),
                   odd_a = as_int4(convert_uchar16(a >> 8));
        const int4 even_b = as_int4(convert_uchar16(b & (ushort)0xff)),
                   odd_b = as_int4(convert_uchar16(b >> 8));
        pieces[k / 64] = (int16)(even_a, even_b, odd_a, odd_b);
    }
}

// lanes[i * 16 + j]: row i of src times column n + j, for `abreast` columns, over `length` elements from k0
// on. A row of ones if `ones`. pieces: the rows in the order of weights of fewer than 8 bits, if these are.
// Columns past the end repeat the last one. Weights `ahead` elements further on are prefetched.
static inline __attribute__((always_inline)) void
multiply_columns(const int count, const int abreast, const bool ones, bytes src, __private const long *rows,
                 long k0, __private const int16 *pieces, bytes wei, tensor t, long first, int n, int columns,
                 int length, long ahead, __private int16 *lanes) {
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
            w[j] = to_domain(load_64_along_k(wei, column[j] + k));
            prefetch_line_l2(wei + (column[j] + k + ahead) * wei_bits() / 8);
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int16 a = ones                 ? (int16)0x01010101
                            : wei_is_small_int() ? pieces[i * ROW_PIECES + k / 64]
                                                 : vload16(0, (global const int *)(src + rows[i] + k0 + k));
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
    int16 pieces[ROWS * ROW_PIECES];
    if (wei_is_small_int() && !ones) {
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            order_pieces(src + rows[i] + k0, length, pieces + i * ROW_PIECES);
    }
#pragma unroll 1
    for (int v = 0; v < NV; ++v) {
        int16 lanes[ROWS * 16];
        if (count == 1) {
#pragma unroll
            for (int n = 0; n < 16; n += abreast)
                multiply_columns(count, abreast, ones, src, rows, k0, pieces, wei, t, first, v * LANES + n,
                                 columns, length, ahead, lanes + n);
        } else {
#pragma unroll 1
            for (int n = 0; n < 16; n += abreast)
                multiply_columns(count, abreast, ones, src, rows, k0, pieces, wei, t, first, v * LANES + n,
                                 columns, length, ahead, lanes + n);
        }
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            sum[i * NV + v] += sums_of_lanes(lanes + 16 * i);
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Few rows of src and float weights that are contiguous along K (FLAG_ALONG_K). Vectors have 16
// elements of K; their lanes are added up at the end of a block. No panel is made: each weight is
// read once for all rows of a group.
#pragma once

#include "arithmetic/transpose.h"
#include "policy/cpu/float_panel.h"
#include "problem/spec.h"
#include "problem/tensor.h"

#if LANES == 16

// Whether 64 codes of a column are looked up at once (policy/cpu/small_words.h).
static inline bool wei_in_64s() {
    return wei_in_tables() && wei_is_f8();
}

// Where a row of src has 64 neighbours, brings them into the order of the vectors of look_up_pairs(): in
// each 16, the even and the odd elements of the first 8, then those of the last 8.
static __attribute__((noinline)) void order_row(bytes src, long i, int length, __private float *a) {
#pragma unroll 1
    for (int k = 0; k + 64 <= length; k += 64)
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const float16 x = load_wide16(src, spec_src_dt(), i + k + 16 * q);
            vstore4(x.lo.even, 0, a + k + 4 * q);
            vstore4(x.lo.odd, 0, a + k + 16 + 4 * q);
            vstore4(x.hi.even, 0, a + k + 32 + 4 * q);
            vstore4(x.hi.odd, 0, a + k + 48 + 4 * q);
        }
}

// own[i * abreast + j] += row i times column j, over `length` elements, a multiple of 64.
static inline __attribute__((always_inline)) void multiply_64s(const int count, const int abreast,
                                                               __private const float *a, bytes wei,
                                                               __private const long *column, int length,
                                                               __private float16 *own) {
#pragma unroll 1
    for (int k = 0; k < length; k += 64)
#pragma unroll
        for (int j = 0; j < abreast; ++j) {
            float16 w[4];
            look_up_pairs(vload16(0, (global const int *)(wei + column[j] + k)), w);
#pragma unroll
            for (int i = 0; i < count; ++i)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    own[i * abreast + j] =
                        fma(vload16(q, a + i * BLOCK_ALONG_K + k), w[q], own[i * abreast + j]);
        }
}

// Loads `count` elements, fewer than 16, and zeros behind them.
static __attribute__((noinline)) float16 load_part(bytes p, int data_type, long i, int count) {
    float16 x = 0.f;
#pragma unroll 1
    for (int j = 0; j < count; ++j)
        ((__private float *)&x)[j] = load_float(p, data_type, i + j);
    return x;
}

// sum[i * NV + v] += row i times the 16 columns of vector v. rows: the element offset of each row
// in src; first: that of the block's weights. Columns past the end repeat the last one.
static inline __attribute__((always_inline)) void
multiply_along_k(const int count, bytes src, __private const long *rows, long k0, bytes wei, tensor t,
                 long first, int columns, int length, __private vec_f *sum) {
    const int abreast = count <= 4 ? 4 : 2; // columns at once: their sums stay in registers
    const int whole = length & ~15;
    int begin = 0; // elements from there on are multiplied 16 at a time
    float ordered[MOST_ROWS_ALONG_K * BLOCK_ALONG_K];
    if (wei_in_64s()) {
        begin = length & ~63;
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            order_row(src, rows[i] + k0, length, ordered + i * BLOCK_ALONG_K);
    }
#pragma unroll 1
    for (int v = 0; v < NV; ++v) {
        float16 lanes[ROWS * 16];
#pragma unroll 1
        for (int n = 0; n < 16; n += abreast) {
            float16 own[ROWS * 4], w[4];
            long column[4];
#pragma unroll
            for (int j = 0; j < abreast; ++j)
                column[j] = first + min(v * LANES + n + j, columns - 1) * t->column;
#pragma unroll
            for (int i = 0; i < count * abreast; ++i)
                own[i] = 0.f;
            if (wei_in_64s())
                multiply_64s(count, abreast, ordered, wei, column, begin, own);
#pragma unroll 1
            for (int k = begin; k < whole; k += 16) {
#pragma unroll
                for (int j = 0; j < abreast; ++j)
                    w[j] = load_wei16(wei, column[j] + k);
#pragma unroll
                for (int i = 0; i < count; ++i) {
                    const float16 a = load_wide16(src, spec_src_dt(), rows[i] + k0 + k);
#pragma unroll
                    for (int j = 0; j < abreast; ++j)
                        own[i * abreast + j] = fma(a, w[j], own[i * abreast + j]);
                }
            }
#pragma unroll
            for (int i = 0; i < count; ++i)
#pragma unroll
                for (int j = 0; j < abreast; ++j)
                    lanes[i * 16 + n + j] = own[i * abreast + j];
            if (whole == length)
                continue;
#pragma unroll 1
            for (int j = 0; j < abreast; ++j) {
                const float16 rest = load_part(wei, spec_wei_dt(), column[j] + whole, length - whole);
#pragma unroll 1
                for (int i = 0; i < count; ++i)
                    lanes[i * 16 + n + j] =
                        fma(load_part(src, spec_src_dt(), rows[i] + k0 + whole, length - whole), rest,
                            lanes[i * 16 + n + j]);
            }
        }
#pragma unroll 1
        for (int i = 0; i < count; ++i)
            sum[i * NV + v] += sums_of_lanes(lanes + 16 * i);
    }
}

#endif

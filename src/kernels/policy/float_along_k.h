// SPDX-License-Identifier: Apache-2.0
// Few rows of src and float weights that are contiguous along K (FLAG_ALONG_K). Vectors have 16
// elements of K; their lanes are added up at the end of a block. No panel is made: each weight is
// read once for all rows of a group.
#pragma once

#include "policy/sums_of_lanes.h"
#include "spec.h"
#include "tensor.h"

#if LANES == 16

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
#pragma unroll 1
            for (int k = 0; k < whole; k += 16) {
#pragma unroll
                for (int j = 0; j < abreast; ++j)
                    w[j] = load_float16(wei, spec_wei_dt(), column[j] + k);
#pragma unroll
                for (int i = 0; i < count; ++i) {
                    const float16 a = load_float16(src, spec_src_dt(), rows[i] + k0 + k);
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

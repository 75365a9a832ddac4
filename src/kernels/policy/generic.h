// SPDX-License-Identifier: Apache-2.0
// The policy that runs anywhere: plain OpenCL C vectors, every operand as f32.
//
// A policy is the ISA below the loop nest of matmul.cl. It defines
//   LANES                 columns of one vector (1 or 16); TILE_N is a multiple of it, NV = TILE_N / LANES
//   ROWS                  rows that are multiplied at once; TILE_M is a multiple of it
//   vec_f, vec_i          LANES floats / ints
//   to_vec_i, to_vec_f    conversions of one vector
//   multiply(..)          c[ROWS][NV] = a[ROWS][k] * b[k][NV]
// Sums of integer products are exact: with |a|, |b| <= 255 and k <= 256 every partial sum stays below 2^24.
#pragma once

#if TILE_K > 256
#error "TILE_K: more than 256 products of 8-bit integers do not fit into the 24 bits of an f32"
#endif

#define NV (TILE_N / LANES)

#if LANES == 16
typedef float16 vec_f;
typedef int16 vec_i;
#define to_vec_i(x) convert_int16(x)
#define to_vec_f(x) convert_float16(x)
#else
typedef float vec_f;
typedef int vec_i;
#define to_vec_i(x) convert_int(x)
#define to_vec_f(x) convert_float(x)
#endif

// a: ROWS rows of TILE_K values; b: TILE_K rows of NV vectors; the first k of each count.
static inline void multiply(private const float *a, private const vec_f *b, int k, private vec_f *c) {
    vec_f sum[ROWS * NV];
#pragma unroll
    for (int i = 0; i < ROWS * NV; ++i)
        sum[i] = (vec_f)0.f;
#pragma unroll 1
    for (int kk = 0; kk < k; ++kk) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const vec_f ai = (vec_f)a[i * TILE_K + kk];
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[i * NV + v] = fma(ai, b[kk * NV + v], sum[i * NV + v]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS * NV; ++i)
        c[i] = sum[i];
}

// SPDX-License-Identifier: Apache-2.0
// A few rows of src and 64 columns of packed 2-bit weights, multiplied as they lie in memory. A vector has
// the four elements of K of all columns: a byte has those of four columns at the same k. A mask leaves the
// bytes of each fourth column, which are multiplied as they are: times 1, 4, 16 and 64. The sums are divided,
// and get the order of columns, at the end of a block.
#pragma once

#include "policy/cpu/int8_block.h"
#include "policy/shared/prefetch.h"

// Whether weights are used only once, so that they need no panel.
static inline bool multiplies_quarters() {
    return TILE_N == 64 && wei_bits() == 2 && wei_in_place() && HAS(FLAG_ONE_GROUP);
}

#if LANES == 16 && TILE_N == 64

// The bytes of columns v, v + 4, .. of all columns, times 4^v unless that is too large for the signed bytes
// that are multiplied with an unsigned src.
static inline vec_i bytes_of_fourth(vec_i quarters, int v) {
    if (v == 3 && !src_is_signed())
        return (quarters >> 6) & 0x03030303;
    return quarters & (int)(0x03030303u << 2 * v);
}
static inline int shift_of_fourth(int v) {
    return v == 3 && !src_is_signed() ? 0 : 2 * v;
}

// sum[i * NV + v] += row i of src, which begins at a[i], times column vector v, over `quads` quads along K.
// Sums stay below 2^31: a block has at most TILE_K products below 2^14.
static inline __attribute__((always_inline)) void multiply_quarters(const int count, __private const bytes *a,
                                                                    int quads, struct b_panel b,
                                                                    __private vec_i *sum) {
    vec_i own[ROWS * 4];
#pragma unroll
    for (int i = 0; i < count * 4; ++i)
        own[i] = 0;
    bytes wei = b.wei + (b.first >> 2);
#pragma unroll 1
    for (int k = 0; k < quads; ++k) {
        const vec_i quarters = vload16(k, (global const int *)wei);
        prefetch_line(wei + 64 * (k + 24));
        vec_i fourth[4];
#pragma unroll
        for (int v = 0; v < 4; ++v)
            fourth[v] = bytes_of_fourth(quarters, v);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int quad = ((global const int *)a[i])[k];
#pragma unroll
            for (int v = 0; v < 4; ++v)
                own[i * 4 + v] = dot_quads(own[i * 4 + v], fourth[v], (vec_i)quad);
        }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
#pragma unroll
        for (int v = 0; v < 4; ++v)
            own[i * 4 + v] >>= shift_of_fourth(v);
        interleave_fours(own + i * 4);
#pragma unroll
        for (int v = 0; v < 4; ++v)
            sum[i * NV + v] += own[i * 4 + v];
    }
}

#endif

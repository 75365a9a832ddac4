// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products with vpdpbusd on 512 bits, where scales change along K: six rows by two vectors of
// columns, whose sums and results are in registers together (owner/work_item/segments.h).
#pragma once

#include "owner/work_item.h"
#include "owner/work_item/kept.h"

#define KEEPS_SEGMENTS 1
#define POLICY_STATE struct kept_segments kept;
#define COLUMNS_AT_ONCE 2

#include "policy/avx512_vnni.h"

// sum[i * COLUMNS_AT_ONCE + v] += row i of src, which begins at a[i], times column vector v0 + v of the
// weights, from a quad of K on.
static inline __attribute__((always_inline)) void multiply_segment(const int count, int v0,
                                                                   __private const bytes *a, int from,
                                                                   int quads, struct b_panel b,
                                                                   __private vec_i *sum) {
#pragma unroll 1
    for (int k = from; k < from + quads; ++k) {
        vec_i wei[COLUMNS_AT_ONCE];
#pragma unroll
        for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
            wei[v] = load_b_quads(b, k, v0 + v);
        if (wei_in_place()) {
            bytes ahead = b.wei + (b.first + 4 * ((long)(k + 24) * PACKED_N + v0 * LANES)) * wei_bits() / 8;
            prefetch_line(ahead);
            if (wei_bits() == 8)
                prefetch_line(ahead + 64);
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int quad = ((global const int *)a[i])[k];
#pragma unroll
            for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
                sum[i * COLUMNS_AT_ONCE + v] = dot_quads(sum[i * COLUMNS_AT_ONCE + v], wei[v], (vec_i)quad);
        }
    }
}

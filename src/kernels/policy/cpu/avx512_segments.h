// SPDX-License-Identifier: Apache-2.0
// 8-bit dot products with vpdpbusd on 512 bits, where scales change along K: six rows by two vectors of
// columns, whose sums and results are in registers together (owner/work_item/segments.h).
#pragma once

#include "owner/work_item.h"
#include "owner/work_item/kept.h"

#define KEEPS_SEGMENTS 1
#define POLICY_STATE struct kept_segments kept;
#define COLUMNS_AT_ONCE 2

#include "policy/cpu/avx512_vnni.h"

typedef short short32 __attribute__((ext_vector_type(32)));
vec_i __attribute__((overloadable)) vpmaddwd(short32 x, short32 y) __asm("llvm.x86.avx512.pmaddw.d.512");

// Integer zero points of at most 9 bits stand twice in a column. The two words of a correction add up to the
// negative sum of src, of at most 17 bits. So an instruction makes a term, exactly. A multiply-add of f32
// takes one, too, but on AMD's cores it is work for the units that multiply bytes.
#define TERMS_ARE_WORDS (spec_zp_term() == ZP_TERM_F32 && !HAS(FLAG_FLOAT_ZP))
#define KEPT_ZERO_POINT(zp) (TERMS_ARE_WORDS ? twice(zp) : as_column_i(to_column_f(zp)))
#define KEPT_CORRECTION(sum) (TERMS_ARE_WORDS ? in_two_words(-(sum)) : as_column_i(to_column_f(sum)))
#define NEGATED_TERM(zp, correction)                                                                         \
    vpmaddwd(__builtin_astype(zp, short32), __builtin_astype((vec_i)(correction), short32))

static inline column_i twice(column_i word) {
    return (word & 0xffff) | (word << 16);
}
static inline column_i in_two_words(column_i x) {
    const column_i part = x >> 1;
    return (part & 0xffff) | ((x - part) << 16);
}

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

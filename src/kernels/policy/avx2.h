// SPDX-License-Identifier: Apache-2.0
// Products of bytes with AVX2, which has no exact dot product of bytes.
//
// 8-bit weights: vpmaddwd multiplies pairs of 16 bits and adds the two products. A quad of four
// elements of K becomes two such pairs: its elements 0 and 2, and 1 and 3.
//
// 4-bit weights: vpmaddubsw multiplies unsigned with signed bytes and adds two products to 16 bits.
// It saturates, but products with 4 bits are small: those of several quads are added up before they
// are widened to s32. So are products of two pairs of 8-bit weights with a src of 7 bits
// (FLAG_REDUCED_RANGE): -64 * 255 (s8) and 127 * -128 (u8) fit twice into 16 bits.
//
// All are exact.
#pragma once

#include "owner/work_item.h"
#include "policy/wide_bytes.h"

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

// Vectors of columns that are multiplied at once: the sums of `count` rows stay in registers.
#define SIDE_BY_SIDE(count) (NV == 2 || (count) > 2 ? 2 : 8 / (count))

typedef char char32 __attribute__((ext_vector_type(32)));

short16 __attribute__((overloadable)) vpmaddubsw(char32 u, char32 s) __asm("llvm.x86.avx2.pmadd.ub.sw");
vec_i __attribute__((overloadable)) vpmaddwd(short16 x, short16 y) __asm("llvm.x86.avx2.pmadd.wd");

// Elements 0 and 2 of each quad (j = 0), or 1 and 3, as 16 bits.
static inline __attribute__((always_inline)) short16 words_of(vec_i quads, int j, bool is_signed) {
    const short16 pairs = as_short16(quads);
    if (is_signed)
        return (j == 0 ? pairs << (short16)8 : pairs) >> (short16)8;
    return j == 0 ? pairs & (short16)0xff : as_short16(as_ushort16(pairs) >> (ushort16)8);
}

#include "policy/int8_block.h"

// Bytes of 16 columns become their quads: even has elements 0 and 2 of each, odd 1 and 3. In each
// 128-bit lane the first four columns go to wei[0].
static inline __attribute__((always_inline)) void interleave(vec_i even, vec_i odd, __private vec_i *wei) {
    const char32 x = __builtin_astype(even, char32), y = __builtin_astype(odd, char32);
    wei[0] = __builtin_astype(__builtin_shufflevector(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38,
                                                      7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53,
                                                      22, 54, 23, 55),
                              vec_i);
    wei[1] = __builtin_astype(__builtin_shufflevector(x, y, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14,
                                                      46, 15, 47, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29,
                                                      61, 30, 62, 31, 63),
                              vec_i);
}

// The quads of row k of a block, `count` vectors from vector v on: 4-bit ones, and 8-bit ones that
// are in place.
static inline __attribute__((always_inline)) void load_row_of_quads(struct b_panel b, int k, int v,
                                                                    const int count, __private vec_i *wei) {
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        if (wei_in_place() && wei_is_int4()) {
            const long at = (b.first + 4 * (k * PACKED_N + (v + i) * LANES)) >> 1;
            // In the order of columns that interleave() wants.
            const vec_i fours = as_vec_i(vload4(0, (global const long *)(b.wei + at)).s0213);
            interleave(fours & 0x0f0f0f0f, as_vec_i(as_uint8(fours) >> 4) & 0x0f0f0f0f, wei + i);
            wei[i] = to_domain(wei[i]);
            wei[i + 1] = to_domain(wei[i + 1]);
        } else {
            wei[i] = load_b_quads(b, k, v + i);
            wei[i + 1] = load_b_quads(b, k, v + i + 1);
        }
    }
}

// 4-bit weights are positive where their bytes are unsigned.
static inline bool wei_bytes_are_signed() {
    return wei_is_int4() || wei_is_signed();
}

static inline __attribute__((always_inline)) short16 multiply_pairs(vec_i src, vec_i wei) {
    const char32 s = __builtin_astype(src, char32), w = __builtin_astype(wei, char32);
    return src_is_signed() ? vpmaddubsw(w, s) : vpmaddubsw(s, w);
}

static inline __attribute__((always_inline)) vec_i dot_quads(vec_i sum, vec_i wei, vec_i src) {
    if (HAS(FLAG_REDUCED_RANGE))
        return sum + vpmaddwd(multiply_pairs(src, wei), (short16)1);
#pragma unroll
    for (int j = 0; j < 2; ++j)
        sum += vpmaddwd(words_of(wei, j, wei_bytes_are_signed()), words_of(src, j, src_is_signed()));
    return sum;
}

// sum[v] += the sum of the panel's column vector v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
    for (int k = 0; k < length; k += 4) {
        const int ones = length - k >= 4 ? 0x01010101 : 0x01010101 & ((1 << 8 * (length & 3)) - 1);
        for (int v = 0; v < NV; ++v)
            sum[v] = dot_quads(sum[v], load_b_quads(b, k / 4, v), (vec_i)ones);
    }
}

// src of a group as 16 bits, which 8 quads at a time become: words[2 * i][k] has elements 0 and 2 of quad k
// of row i, words[2 * i + 1][k] elements 1 and 3. A single row gains nothing.
typedef int row_words[TILE_K / 4];

static inline bool has_row_words(const int count) {
    return count > 1 && !HAS(FLAG_REDUCED_RANGE);
}

static inline void widen_rows(const int count, __private const bytes *src, int quads,
                              __private row_words *words) {
    for (int i = 0; i < count; ++i) {
        global const int *row = (global const int *)src[i];
        int k = 0;
        for (; k + LANES <= quads; k += LANES)
            for (int j = 0; j < 2; ++j)
                vstore8(as_vec_i(words_of(vload8(0, row + k), j, src_is_signed())), 0, words[2 * i + j] + k);
        for (; k < quads; ++k)
            for (int j = 0; j < 2; ++j)
                words[2 * i + j][k] = as_vec_i(words_of((vec_i)row[k], j, src_is_signed())).s0;
    }
}

// sum[i * NV + n] += row i of src times column vector v + n, for `count` rows and
// SIDE_BY_SIDE(count) vectors, over `quads` quads along K.
static inline __attribute__((always_inline)) void multiply_bytes(const int count, int v,
                                                                 __private const bytes *src,
                                                                 __private const row_words *words, int quads,
                                                                 struct b_panel b, __private vec_i *sum) {
    const int vectors = SIDE_BY_SIDE(count);
#pragma unroll 1
    for (int k = 0; k < quads; ++k) {
        vec_i wei[NV];
        load_row_of_quads(b, k, v, vectors, wei);
        short16 columns[2][NV];
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
            for (int n = 0; n < vectors; ++n)
                columns[j][n] = words_of(wei[n], j, wei_bytes_are_signed());
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if (!has_row_words(count)) {
                const int quad = ((global const int *)src[i])[k];
#pragma unroll
                for (int n = 0; n < vectors; ++n)
                    sum[i * NV + n] = dot_quads(sum[i * NV + n], wei[n], (vec_i)quad);
                continue;
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const short16 row = as_short16((vec_i)words[2 * i + j][k]);
#pragma unroll
                for (int n = 0; n < vectors; ++n)
                    sum[i * NV + n] += vpmaddwd(columns[j][n], row);
            }
        }
    }
}

// The largest number of quads whose sums of 4-bit products fit into 16 bits: -128 * 15 (s8 by u4),
// 255 * -8 (u8 by s4), 255 * 15 (u8 by u4). With 7 bits of src they are half as large.
static inline int quads_in_16_bits() {
    return (src_is_signed() || wei_is_signed() ? 8 : 4) * (HAS(FLAG_REDUCED_RANGE) ? 2 : 1);
}

// The same for 4-bit weights.
static inline __attribute__((always_inline)) void multiply_nibbles(const int count, int v,
                                                                   __private const bytes *src, int quads,
                                                                   struct b_panel b, __private vec_i *sum) {
    const int vectors = SIDE_BY_SIDE(count);
    vec_i wei[NV];
#pragma unroll 1
    for (int k = 0; k < quads;) {
        short16 part[ROWS * NV];
#pragma unroll
        for (int i = 0; i < count * vectors; ++i)
            part[i] = 0;
        const int end = min(k + quads_in_16_bits(), quads);
#pragma unroll 1
        for (; k < end; ++k) {
            load_row_of_quads(b, k, v, vectors, wei);
#pragma unroll
            for (int i = 0; i < count; ++i) {
                const int quad = ((global const int *)src[i])[k];
#pragma unroll
                for (int n = 0; n < vectors; ++n)
                    part[i * vectors + n] += multiply_pairs((vec_i)quad, wei[n]);
            }
        }
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int n = 0; n < vectors; ++n)
                sum[i * NV + n] += vpmaddwd(part[i * vectors + n], (short16)1);
    }
}

// sum[i * NV + v] += row i of the group times column vector v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *sum,
                                                           __private vec_f *unused) {
    const int quads = length / 4;
    bytes src[ROWS];
#pragma unroll
    for (int i = 0; i < count; ++i)
        src[i] = group->src + group->rows->src[group->i0 + i] + group->k0;
    row_words words[2 * ROWS];
    if (!wei_is_int4() && has_row_words(count))
        widen_rows(count, src, quads, words);
#pragma unroll
    for (int v = 0; v < NV; v += SIDE_BY_SIDE(count))
        if (wei_is_int4())
            multiply_nibbles(count, v, src, quads, b, sum + v);
        else
            multiply_bytes(count, v, src, words, quads, b, sum + v);
    if (!HAS(FLAG_QUAD_TAIL) || length == 4 * quads)
        return;
    for (int i = 0; i < count; ++i) {
        int quad = 0;
        for (int k = 4 * quads; k < length; ++k)
            quad |= src[i][k] << 8 * (k & 3);
        for (int v = 0; v < NV; ++v)
            sum[i * NV + v] = dot_quads(sum[i * NV + v], load_b_quads(b, quads, v), (vec_i)quad);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Products of bytes with AVX2, which has no exact dot product of bytes.
//
// 8-bit weights: vpmaddwd multiplies pairs of 16 bits and adds the two products. A quad of four
// elements of K becomes two such pairs: its elements 0 and 2, and 1 and 3.
//
// Weights of 4 and 2 bits: vpmaddubsw multiplies unsigned with signed bytes and adds two products to 16 bits.
// It saturates, but these products are small: those of several quads are added up before they
// are widened to s32. So are products of two pairs of 8-bit weights with a src of 7 bits
// (FLAG_REDUCED_RANGE): -64 * 255 (s8) and 127 * -128 (u8) fit twice into 16 bits.
//
// All are exact.
#pragma once

#include "owner/work_item.h"
#include "policy/cpu/wide_bytes.h"

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

// The sums of `count` rows and so many vectors of columns stay in registers.
#define PART_COLUMNS(count) (NV == 2 || (count) > 2 ? 2 : 8 / (count))

// src of a group as 16 bits, which 8 quads at a time become: words[2 * i][k] has elements 0 and 2 of quad k
// of row i, words[2 * i + 1][k] elements 1 and 3.
typedef int row_words[TILE_K / 4];
#define GROUP_STATE row_words words[2 * ROWS];
#include "policy/cpu/column_parts.h"

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

// Weights of fewer than 8 bits are positive where their bytes are unsigned.
static inline bool wei_bytes_are_signed() {
    return wei_is_small_int() || wei_is_signed();
}

// Turns the quads of a panel into words of 16 bits: of quad k of column vector v, words[(2 * k + j) * NV + v]
// has elements 0 and 2 (j = 0), or 1 and 3.
static inline void widen_panel(int count, __private const vec_i *quads, __private vec_i *words) {
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
        vec_i row[NV];
#pragma unroll
        for (int v = 0; v < NV; ++v)
            row[v] = quads[k * NV + v];
#pragma unroll
        for (int j = 0; j < 2; ++j)
#pragma unroll
            for (int v = 0; v < NV; ++v)
                words[(2 * k + j) * NV + v] = as_vec_i(words_of(row[v], j, wei_bytes_are_signed()));
    }
}
#define WIDENS_PANEL

#include "policy/cpu/int8_block.h"

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

// The quads of row k of a block, `count` vectors from vector v on: small ones, and 8-bit ones that
// are in place.
static inline __attribute__((always_inline)) void load_row_of_quads(struct b_panel b, int k, int v,
                                                                    const int count, __private vec_i *wei) {
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        if (wei_in_place() && wei_bits() == 4) {
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

static inline __attribute__((always_inline)) short16 multiply_pairs(vec_i src, vec_i wei) {
    const char32 s = __builtin_astype(src, char32), w = __builtin_astype(wei, char32);
    return src_is_signed() ? vpmaddubsw(w, s) : vpmaddubsw(s, w);
}

// Words j of quad k of column vector v.
static inline __attribute__((always_inline)) short16 load_b_words(struct b_panel b, int k, int v, int j) {
    if (panel_has_words())
        return as_short16(b.panel[(2 * k + j) * NV + v]);
    return words_of(load_b_quads(b, k, v), j, wei_bytes_are_signed());
}

static inline __attribute__((always_inline)) vec_i dot_quads(vec_i sum, vec_i wei, vec_i src) {
    if (HAS(FLAG_REDUCED_RANGE))
        return sum + vpmaddwd(multiply_pairs(src, wei), (short16)1);
#pragma unroll
    for (int j = 0; j < 2; ++j)
        sum += vpmaddwd(words_of(wei, j, wei_bytes_are_signed()), words_of(src, j, src_is_signed()));
    return sum;
}

// The sum plus quad k of column vector v times a quad of src.
static inline __attribute__((always_inline)) vec_i add_quads(vec_i sum, struct b_panel b, int k, int v,
                                                             vec_i src) {
    if (!panel_has_words())
        return dot_quads(sum, load_b_quads(b, k, v), src);
#pragma unroll
    for (int j = 0; j < 2; ++j)
        sum += vpmaddwd(load_b_words(b, k, v, j), words_of(src, j, src_is_signed()));
    return sum;
}

// sum[v] += the sum of the panel's column vector v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
    for (int k = 0; k < length; k += 4) {
        const int ones = length - k >= 4 ? 0x01010101 : 0x01010101 & ((1 << 8 * (length & 3)) - 1);
        for (int v = 0; v < NV; ++v)
            sum[v] = add_quads(sum[v], b, k / 4, v, (vec_i)ones);
    }
}

// Whether rows of src become words. A single row gains nothing.
static inline bool has_row_words(const int count) {
    return panel_has_words() || (count > 1 && !HAS(FLAG_REDUCED_RANGE));
}

static inline __attribute__((always_inline)) void widen_rows(const int count, __private const bytes *src,
                                                             int quads, __private row_words *words) {
    int k = 0;
#pragma unroll 1
    for (; k + LANES <= quads; k += LANES)
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const vec_i row = vload8(0, (global const int *)src[i] + k);
#pragma unroll
            for (int j = 0; j < 2; ++j)
                vstore8(as_vec_i(words_of(row, j, src_is_signed())), 0, words[2 * i + j] + k);
        }
#pragma unroll 1
    for (; k < quads; ++k)
#pragma unroll
        for (int i = 0; i < 2 * count; ++i) {
            const int quad = ((global const int *)src[i / 2])[k];
            words[i][k] = as_vec_i(words_of((vec_i)quad, i % 2, src_is_signed())).s0;
        }
}

// sum[i * NV + n] += row i of src times column vector v + n, for `count` rows and PART_COLUMNS(count)
// vectors, over `quads` quads along K. Here the panel has words.
static inline __attribute__((always_inline)) void multiply_words(const int count, int v,
                                                                 __private const row_words *words, int quads,
                                                                 struct b_panel b, __private vec_i *sum) {
    __private const vec_i *panel = b.panel + v;
#pragma unroll 1
    for (long k = 0; k < quads; ++k, panel += 2 * NV)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            short16 wei[NV];
#pragma unroll
            for (int n = 0; n < PART_COLUMNS(count); ++n)
                wei[n] = as_short16(panel[j * NV + n]);
#pragma unroll
            for (int i = 0; i < count; ++i) {
                const short16 row = as_short16((vec_i)words[2 * i + j][k]);
#pragma unroll
                for (int n = 0; n < PART_COLUMNS(count); ++n)
                    sum[i * NV + n] += vpmaddwd(wei[n], row);
            }
        }
}

// Multiplies quads of weights. Both pairs of a row are multiplied before the next row: then compilers need
// fewer registers, and multiplications do not wait for additions.
static inline __attribute__((always_inline)) void multiply_quads(const int count, int v,
                                                                 __private const bytes *src,
                                                                 __private const row_words *words, int quads,
                                                                 struct b_panel b, __private vec_i *sum) {
    const int vectors = PART_COLUMNS(count);
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

// Quads whose sums of 4-bit products fit into 16 bits: 8 times -128 * 15 (s8 by u4) and 255 * -8 (u8 by s4),
// each twice. With 7 bits of src they are half as large. Sums of u8 by u4, up to 8 * 2 * 255 * 15, begin at a
// negative number. Of products with u2, 16 times 255 * 3, each twice, fit.
#define QUADS_IN_16_BITS (HAS(FLAG_REDUCED_RANGE) || wei_bits() == 2 ? 16 : 8)
#define FIRST_IN_16_BITS (src_is_signed() || wei_is_signed() || wei_bits() == 2 ? 0 : -8 * 255 * 15)

// part[i * NV + n] += row i of src times column vector v + n at quad k, in 16 bits.
static inline __attribute__((always_inline)) void add_small(const int count, int v, const bool begins,
                                                            __private const bytes *src, int k,
                                                            struct b_panel b, __private short16 *part) {
    vec_i wei[NV];
    load_row_of_quads(b, k, v, PART_COLUMNS(count), wei);
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int quad = ((global const int *)src[i])[k];
#pragma unroll
        for (int n = 0; n < PART_COLUMNS(count); ++n) {
            const short16 before = begins ? (short16)FIRST_IN_16_BITS : part[i * NV + n];
            part[i * NV + n] = before + multiply_pairs((vec_i)quad, wei[n]);
        }
    }
}

// Multiplies weights of 4 and 2 bits.
static inline __attribute__((always_inline)) void multiply_small(const int count, int v,
                                                                 __private const bytes *src, int quads,
                                                                 struct b_panel b, __private vec_i *sum) {
    const int times = (quads + QUADS_IN_16_BITS - 1) / QUADS_IN_16_BITS;
#pragma unroll
    for (int i = 0; i < (FIRST_IN_16_BITS != 0 ? count : 0); ++i)
#pragma unroll
        for (int n = 0; n < PART_COLUMNS(count); ++n)
            sum[i * NV + n] -= (vec_i)(times * 2 * FIRST_IN_16_BITS);
#pragma unroll 1
    for (int k = 0; k < quads;) {
        short16 part[ROWS * NV];
        add_small(count, v, true, src, k, b, part);
        const int end = min(k + QUADS_IN_16_BITS, quads);
#pragma unroll 1
        for (++k; k < end; ++k)
            add_small(count, v, false, src, k, b, part);
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int n = 0; n < PART_COLUMNS(count); ++n)
                sum[i * NV + n] += vpmaddwd(part[i * NV + n], (short16)1);
    }
}

// sum[i * NV + n] += row i of the group times column vector v + n of the panel, for PART_COLUMNS(count) of
// them.
static inline __attribute__((always_inline)) void multiply(const int count, int v,
                                                           __private struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *sum,
                                                           __private vec_f *unused) {
    const int quads = length / 4;
    bytes src[ROWS];
#pragma unroll
    for (int i = 0; i < count; ++i)
        src[i] = group->src + group->rows->src[group->i0 + i] + group->k0;
    if (v == 0 && !wei_is_small_int() && has_row_words(count))
        widen_rows(count, src, quads, group->words);
    if (wei_is_small_int())
        multiply_small(count, v, src, quads, b, sum);
    else if (panel_has_words())
        multiply_words(count, v, group->words, quads, b, sum);
    else
        multiply_quads(count, v, src, group->words, quads, b, sum);
    if (!HAS(FLAG_QUAD_TAIL) || length == 4 * quads)
        return;
#pragma unroll
    for (int i = 0; i < count; ++i) {
        int quad = 0;
        for (int k = 4 * quads; k < length; ++k)
            quad |= src[i][k] << 8 * (k & 3);
#pragma unroll
        for (int n = 0; n < PART_COLUMNS(count); ++n)
            sum[i * NV + n] = add_quads(sum[i * NV + n], b, quads, v + n, (vec_i)quad);
    }
}

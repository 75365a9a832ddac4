// SPDX-License-Identifier: Apache-2.0
// Weights of any type and layout as f32.
#pragma once

#include "arithmetic/halves.h"
#include "policy/cpu/work_item_wei.h"
#include "policy/shared/prefetch.h"
#include "problem/spec.h"
#include "problem/tensor.h"
#if LANES > 1
#include "arithmetic/transpose.h"

// A policy whose ISA looks f4 up in a register defines LOOK_UP_f4_e2m1(codes), and CAN_LOOK_UP: whether the
// CPU does. With WITH_TABLES f4_table.h defines LOOK_UP_f4_e2m1, and the policy includes small_words.h.
#ifdef WITH_TABLES
#include "policy/cpu/f4_table.h"
#elif !defined(CAN_LOOK_UP)
#define CAN_LOOK_UP false
#define LOOK_UP_f4_e2m1(codes) VEC_OF_CODES(f4_e2m1, codes)
#endif

// Element j of words of weights that have one each `step` bits: an integer as s32, or the code of a float.
static inline vec_i of_words(vec_i words, int step, int j) {
    const int bits = wei_bits();
    if (wei_is_signed())
        return (words << (32 - bits - step * j)) >> (32 - bits);
    return (words >> (step * j)) & ((1 << bits) - 1);
}

// Element j of each quad that load_packed() returns.
static inline vec_i of_quads(vec_i quads, int j) {
    return of_words(quads, quad_bits(), j);
}

// Elements of the weights' type: integers, or codes of floats of 8 and 4 bits.
#define CASE_OF_32(...)
#define CASE_OF_16(...)
#define CASE_OF_8(name, NAME)                                                                                \
    case DT_##NAME:                                                                                          \
        return VEC_OF_CODES(name, elements);
#define CASE_OF_4(name, NAME)                                                                                \
    case DT_##NAME:                                                                                          \
        return CAN_LOOK_UP ? LOOK_UP_##name(elements) : VEC_OF_CODES(name, elements);
static inline vec_f values_of_codes(vec_i elements) {
    switch (spec_wei_dt()) {
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, ...) CASE_OF_##bits(name, NAME)
#define ZEMM_EXPONENT_TYPE(...)
#include "lists/types.def"
    }
    return to_vec_f(elements);
}

static inline vec_f values_of_quads(vec_i quads, int j) {
    return values_of_codes(of_quads(quads, j));
}

// 16 neighbours of plain weights, from element i on, which begins at a whole byte.
static inline float16 load_wei16(bytes wei, long i) {
#ifdef WITH_TABLES
    if (CAN_LOOK_UP && spec_wei_dt() == DT_F4_E2M1)
        return load_f4_16(wei + (i >> 1));
#endif
    return load_wide16(wei, spec_wei_dt(), i);
}

// 32 bytes of plain weights, from element i on, which begins at a whole byte.
static inline int8 load_8_words(bytes wei, long i) {
    return vload8(0, (global const int *)(wei + i * wei_bits() / 8));
}

// load_along_k() for types of 8 bits and fewer. Words of 4, 8 or 16 elements are transposed as they are and
// converted then. column: the element at which each of the 16 columns begins.
static inline int load_words_along_k(bytes wei, __private const long *column, int n, int length,
                                     __private float *panel) {
    const int each = 32 / wei_bits(); // elements in a word
    int k = 0;
    for (; k + 8 * each <= length; k += 8 * each) {
        int16 r[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int first = first_of_pair(i);
            r[i] = (int16)(load_8_words(wei, column[first] + k), load_8_words(wei, column[first + 4] + k));
        }
        transpose_pairs(r);
        __private const vec_i *words = (__private const vec_i *)r;
        for (int j = 0; j < 8 * each; ++j)
            for (int v = 0; v < 16 / LANES; ++v)
                *(__private vec_f *)(panel + (k + j) * TILE_N + n + v * LANES) =
                    values_of_codes(of_words(words[j / each * (16 / LANES) + v], wei_bits(), j % each));
    }
    return k;
}

// Loads a panel's columns n .. n + 15 from weights that are contiguous along K. Columns past the
// end repeat the last one. Returns how many elements of K it loaded, a multiple of 16.
static inline int load_along_k(bytes wei, tensor t, long begin, int n, int columns, long k0, int length,
                               __private float *panel) {
    long column[16];
    for (int i = 0; i < 16; ++i)
        column[i] = begin + min(n + i, columns - 1) * t->column + k0;
    int k = wei_bits() <= 8 ? load_words_along_k(wei, column, n, length, panel) : 0;
    for (; k + 16 <= length; k += 16) {
        int16 r[16];
        for (int i = 0; i < 16; ++i)
            r[i] = as_int16(load_wei16(wei, column[i] + k));
        transpose16(r);
        for (int i = 0; i < 16; ++i)
            vstore16(as_float16(r[i]), 0, panel + (k + i) * TILE_N + n);
    }
    return k;
}

// Loads a panel from whole rows of the tile that are contiguous along N. Rows are prefetched a few
// ahead; as they may be a power of 2 apart, more would evict each other from the L1 cache.
static inline void load_along_n(bytes wei, tensor t, long begin, long k0, int length,
                                __private float *panel) {
    for (int k = 0; k < length; ++k) {
        const long row = begin + (k0 + k) * t->row;
        for (int line = 0; line < TILE_N * wei_bits() / 8; line += 64)
            prefetch_line(wei + (row + 8 * t->row) * wei_bits() / 8 + line);
        for (int n = 0; n < TILE_N; n += 16)
            vstore16(load_wei16(wei, row + n), 0, panel + k * TILE_N + n);
    }
}
#endif

// Loads a panel from plain weights of any strides. begin: element offset of the tile's first
// column; panel: [length][TILE_N]. Columns past the end repeat the last one.
static inline void load_columns(bytes wei, tensor t, long begin, long k0, int length, int columns,
                                __private float *panel) {
#if LANES > 1
    if (spec_wei_unit() == UNIT_COLUMN && columns == TILE_N) {
        load_along_n(wei, t, begin, k0, length, panel);
        return;
    }
    for (int n = 0; n < TILE_N; n += 16) {
        int k = 0;
        if (spec_wei_unit() == UNIT_ROW)
            k = load_along_k(wei, t, begin, n, columns, k0, length, panel);
        else if (spec_wei_unit() == UNIT_COLUMN && n + 16 <= columns)
            for (; k < length; ++k)
                vstore16(load_wei16(wei, begin + (k0 + k) * t->row + n), 0, panel + k * TILE_N + n);
        for (; k < length; ++k)
            for (int i = n; i < n + 16; ++i)
                panel[k * TILE_N + i] = load_float(
                    wei, spec_wei_dt(), begin + min(i, columns - 1) * t->column + (k0 + k) * t->row);
    }
#else
    for (int n = 0; n < TILE_N; ++n)
        for (int k = 0; k < length; ++k)
            panel[k * TILE_N + n] =
                load_float(wei, spec_wei_dt(), begin + min(n, columns - 1) * t->column + (k0 + k) * t->row);
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Operands in 16 bits, two elements of K in a word: rows of src, and the words of a panel of weights. A
// src of f32 and the values of converted weights are rounded to them. The header included before this
// one, policy/cpu/bf16.h or policy/cpu/f16.h, defines
//   WORD_DT             the type of the halves of a word
//   half_bits(x)        the bits of f32 as that type, in the low halves of words
//   first_of_words(w), second_of_words(w)   the halves of words as f32
//   halves_of_codes(c)  the bits of codes of 8-bit and 4-bit floats, which are exact as that type
//   PUT_WORDS(panel, i, first, second)   optional: makes panel[i] the words of two rows of converted weights
#pragma once

#include "policy/cpu/float_panel.h"
#include "policy/cpu/small_words.h"

#define STEP 32 // elements of K in 64 bytes of a row of src

#ifndef PUT_WORDS
#define PUT_WORDS(panel, i, first, second) panel[i] = as_int16(half_bits(first) | half_bits(second) << 16)
#endif

static inline bool src_in_place() {
    return spec_src_dt() == WORD_DT;
}

// One step of a row of src from element i on, with zeros behind `length` elements.
static inline void copy_src_row(__private uchar *to, bytes src, long i, int length) {
    float elements[STEP];
    if (length == STEP && is_whole_byte(spec_src_dt(), i)) {
        for (int k = 0; k < STEP; k += 16)
            vstore16(load_wide16(src, spec_src_dt(), i + k), 0, elements + k);
    } else {
        for (int k = 0; k < STEP; ++k)
            elements[k] = k < length ? load_float(src, spec_src_dt(), i + k) : 0.f;
    }
    for (int k = 0; k < STEP; k += 16)
        vstore16(convert_ushort16(half_bits(vload16(0, elements + k))), 0, (__private ushort *)to + k);
}

// The columns of vector v of row k of a block of packed weights, which begins at element `packed`.
static inline float16 load_packed_row(bytes wei, long packed, int k, int v) {
    if (!wei_in_quads())
        return load_column_f(wei, spec_wei_dt(), packed + k * PACKED_N + v * LANES);
    return values_of_quads(load_packed(wei, packed + (k & ~3) * PACKED_N + v * LANES * 4), k & 3);
}

static inline void load_packed_words(bytes wei, long packed, int length, __private const column_i *wei_zp,
                                     __private vec_i *panel) {
    for (int k = 0; k < length; k += 2)
        for (int v = 0; v < NV; ++v) {
            const float16 zp = HAS(FLAG_WEI_ZP) ? zero_points_as_f32(wei_zp[v]) : 0.f;
            const float16 first = load_packed_row(wei, packed, k, v) - zp;
            const float16 second = k + 1 < length ? load_packed_row(wei, packed, k + 1, v) - zp : 0.f;
            PUT_WORDS(panel, k / 2 * NV + v, first, second);
        }
}

// The elements of x and y in turns: the first, or the last, 16 of each.
#define FIRST_PAIRS(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10,  \
                            42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47)
#define LAST_PAIRS(x, y)                                                                                     \
    __builtin_shufflevector(x, y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56,    \
                            25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63)

static inline ushort32 load_32_halves(global const ushort *from) {
    return CONCATENATED16(vload16(0, from), vload16(1, from));
}

// Makes a panel of weights that have the type already. Rows of TILE_N elements begin `row` elements apart.
static inline void copy_words(global const ushort *from, long row, int length, __private vec_i *panel) {
    for (int k = 0; k < length; k += 2, from += 2 * row)
        for (int v = 0; v < NV; v += 2) {
            const ushort32 first = load_32_halves(from + v * LANES);
            const ushort32 second = k + 1 < length ? load_32_halves(from + row + v * LANES) : (ushort32)0;
            panel[k / 2 * NV + v] = __builtin_astype(FIRST_PAIRS(first, second), int16);
            panel[k / 2 * NV + v + 1] = __builtin_astype(LAST_PAIRS(first, second), int16);
        }
}

// Makes a panel of plain weights that have the type: whole words of 16 columns from n on, contiguous along K,
// while there are 16. Returns the elements of K.
static inline int copy_words_along_k(bytes wei, tensor t, long begin, int n, int columns, long k0, int length,
                                     __private vec_i *panel) {
    int16 r[16];
    int k = 0;
    for (; k + 32 <= length; k += 32) {
        for (int i = 0; i < 16; ++i) {
            global const ushort *from =
                (global const ushort *)wei + begin + min(n + i, columns - 1) * t->column + k0 + k;
            r[i] = (int16)(as_int8(vload16(0, from)), as_int8(vload16(1, from)));
        }
        transpose16(r);
        for (int i = 0; i < 16; ++i)
            panel[(k / 2 + i) * NV + n / LANES] = r[i];
    }
    return k;
}

// Returns the elements of K that have words now.
static inline int copy_plain_words(const struct wei_source *w, tensor t, long begin, long k0, int length,
                                   __private vec_i *panel) {
    int k = 0;
    if (spec_wei_unit() == UNIT_ROW)
        for (int n = 0; n < TILE_N; n += 16)
            k = copy_words_along_k(w->wei, t, begin, n, w->columns, k0, length, panel);
    if (spec_wei_unit() == UNIT_COLUMN && w->columns == TILE_N) {
        copy_words((global const ushort *)w->wei + begin + k0 * t->row, t->row, length, panel);
        k = length;
    }
    return k;
}

// begin: element offset of the tile's first column.
static inline void load_plain_words(const struct wei_source *w, tensor t, long begin, long k0, int length,
                                    __private const column_i *wei_zp, __private vec_i *panel) {
    float16 rows[STEP * NV];
    const bool copies = spec_wei_dt() == WORD_DT && !HAS(FLAG_WEI_ZP);
    for (int k = copies ? copy_plain_words(w, t, begin, k0, length, panel) : 0; k < length; k += STEP) {
        const int count = min(STEP, length - k);
        load_columns(w->wei, t, begin, k0 + k, count, w->columns, (__private float *)rows);
        for (int i = 0; i < count; i += 2)
            for (int v = 0; v < NV; ++v) {
                const float16 zp = HAS(FLAG_WEI_ZP) ? zero_points_as_f32(wei_zp[v]) : 0.f;
                const float16 first = rows[i * NV + v] - zp;
                const float16 second = i + 1 < count ? rows[(i + 1) * NV + v] - zp : 0.f;
                PUT_WORDS(panel, (k + i) / 2 * NV + v, first, second);
            }
    }
}

// The words of a block of weights: row k of them is panel[k / 2 * NV + n / LANES] of the columns from n
// on. An odd `length` leaves zeros in the last words.
static inline void load_words(const struct wei_source *w, global const struct matmul_problem *p, long k0,
                              int length, __private const column_i *wei_zp, __private vec_i *panel) {
    const long packed = block_begin(w, p, k0);
    if (spec_wei_unit() != UNIT_PACKED)
        load_plain_words(w, &p->wei, w->begin + w->n0 * p->wei.column, k0, length, wei_zp, panel);
    else if (spec_wei_dt() == WORD_DT && !HAS(FLAG_WEI_ZP))
        copy_words((global const ushort *)w->wei + packed, PACKED_N, length, panel);
    else if (wei_in_tables())
        look_up_words(w->wei, packed, length, panel);
    else
        load_packed_words(w->wei, packed, length, wei_zp, panel);
}

// SPDX-License-Identifier: Apache-2.0
// bf16 by bf16 or by integers, by the tiles of AMX; f32 becomes bf16, where the fpmath mode allows that.
// Weights become a panel of bf16, in which two elements of K of each column are a word.
#pragma once

#include "owner/work_item.h"
#include "policy/all_columns.h"
#include "policy/float_panel.h"
#include "policy/no_ahead.h"
#include "policy/tiles.h"

#define WEI_SHIFT 0
#define STEP 32

TILE_INTRINSIC x86_tdpbf16ps(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbf16ps");

// The two bf16 of the words of a vector, as f32. The hardware takes denormals as 0, this does not.
static inline float16 first_bf16(int16 words) {
    return as_float16(words << 16);
}
static inline float16 second_bf16(int16 words) {
    return as_float16(words & (int)0xffff0000);
}

// Adds up the first elements of all words apart from the second ones, as the instruction does.
static __attribute__((noinline)) void multiply_tile_bf16(__private struct tile_rows16 *sum,
                                                         __private const struct tile_rows16 *src,
                                                         __private const struct tile_rows16 *wei) {
    for (int i = 0; i < 16; ++i) {
        __private const int *words = (__private const int *)&src->row[i];
        float16 first = 0, second = 0;
        for (int k = 0; k < 16; ++k) {
            first = fma((float16)as_float(words[k] << 16), first_bf16(wei->row[k]), first);
            second = fma((float16)as_float(words[k] & (int)0xffff0000), second_bf16(wei->row[k]), second);
        }
        sum->row[i] = as_int16(as_float16(sum->row[i]) + (first + second));
    }
}

// sum += src * wei, of bf16. The sums are the bits of f32.
#define TILE_MULTIPLY(tiles, sum, src, wei)                                                                  \
    (tiles_in_software() ? multiply_tile_bf16(&(tiles)[sum], &(tiles)[src], &(tiles)[wei])                   \
                         : x86_tdpbf16ps(sum, src, wei))

// f32 as bf16 in the high halves of words, rounded to nearest even. A NaN stays a quiet NaN.
static inline uint16 round_to_bf16(float16 x) {
    const uint16 bits = as_uint16(x);
    const uint16 rounded = bits + 0x7fff + ((bits >> 16) & 1);
    return (isnan(x) ? bits | 0x400000 : rounded) & 0xffff0000;
}

static inline bool src_in_place() {
    return spec_src_dt() == DT_BF16;
}

// One step of a row of src from element i on, with zeros behind `length` elements.
static inline void copy_src_row(__private uchar *to, bytes src, long i, int length) {
    float elements[STEP];
    if (length == STEP) {
        for (int k = 0; k < STEP; k += 16)
            vstore16(load_float16(src, spec_src_dt(), i + k), 0, elements + k);
    } else {
        for (int k = 0; k < STEP; ++k)
            elements[k] = k < length ? load_float(src, spec_src_dt(), i + k) : 0.f;
    }
    for (int k = 0; k < STEP; k += 16)
        vstore16(convert_ushort16(round_to_bf16(vload16(0, elements + k)) >> 16), 0,
                 (__private ushort *)to + k);
}

#include "policy/tiles_multiply.h"

// The columns of vector v of row k of a block of packed weights, which begins at element `packed`.
static inline float16 load_packed_row(bytes wei, long packed, int k, int v) {
    if (!wei_in_quads())
        return load_column_f(wei, spec_wei_dt(), packed + k * PACKED_N + v * LANES);
    return values_of_quads(load_packed(wei, packed + (k & ~3) * PACKED_N + v * LANES * 4), k & 3);
}

static inline void load_packed_words(bytes wei, long packed, int length, __private const column_i *wei_zp,
                                     __private panel_vec *panel) {
    for (int k = 0; k < length; k += 2)
        for (int v = 0; v < NV; ++v) {
            const float16 zp = HAS(FLAG_WEI_ZP) ? to_vec_f(wei_zp[v]) : 0.f;
            const float16 first = load_packed_row(wei, packed, k, v) - zp;
            const float16 second = k + 1 < length ? load_packed_row(wei, packed, k + 1, v) - zp : 0.f;
            panel[k / 2 * NV + v] = as_int16(round_to_bf16(first) >> 16 | round_to_bf16(second));
        }
}

// The same for bf16, which is not rounded.
static inline void load_packed_bf16(bytes wei, long packed, int length, __private panel_vec *panel) {
    global const ushort *from = (global const ushort *)wei + packed;
    for (int k = 0; k < length; k += 2, from += 2 * PACKED_N)
        for (int v = 0; v < NV; ++v) {
            const uint16 first = convert_uint16(vload16(v, from));
            const uint16 second = k + 1 < length ? convert_uint16(vload16(v, from + PACKED_N)) : (uint16)0;
            panel[k / 2 * NV + v] = as_int16(first | second << 16);
        }
}

// begin: element offset of the tile's first column.
static inline void load_plain_words(const struct wei_source *w, tensor t, long begin, long k0, int length,
                                    __private const column_i *wei_zp, __private panel_vec *panel) {
    float16 rows[STEP * NV];
    for (int k = 0; k < length; k += STEP) {
        const int count = min(STEP, length - k);
        load_columns(w->wei, t, begin, k0 + k, count, w->columns, (__private float *)rows);
        for (int i = 0; i < count; i += 2)
            for (int v = 0; v < NV; ++v) {
                const float16 zp = HAS(FLAG_WEI_ZP) ? to_vec_f(wei_zp[v]) : 0.f;
                const float16 first = rows[i * NV + v] - zp;
                const float16 second = i + 1 < count ? rows[(i + 1) * NV + v] - zp : 0.f;
                panel[(k + i) / 2 * NV + v] = as_int16(round_to_bf16(first) >> 16 | round_to_bf16(second));
            }
    }
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const long packed = w->begin + w->n0 / PACKED_N * p->wei_panel + k0 * PACKED_N;
    if (spec_wei_unit() != UNIT_PACKED)
        load_plain_words(w, &p->wei, w->begin + w->n0 * p->wei.column, k0, length, wei_zp, panel);
    else if (spec_wei_dt() == DT_BF16 && !HAS(FLAG_WEI_ZP))
        load_packed_bf16(w->wei, packed, length, panel);
    else
        load_packed_words(w->wei, packed, length, wei_zp, panel);
    for (int i = (length + 1) / 2 * NV; i < (length + STEP - 1) / STEP * 16 * NV; ++i)
        panel[i] = 0;
    const struct b_panel b = {(ulong)panel, panel};
    return b;
}

// Zero points of the weights are subtracted from the weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

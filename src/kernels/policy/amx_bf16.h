// SPDX-License-Identifier: Apache-2.0
// bf16 by bf16 or by integers, by the tiles of AMX; f32 becomes bf16, where the fpmath mode allows that.
// Weights become a panel of bf16, in which two elements of K of each column are a word.
#pragma once

#include "owner/work_item.h"
#include "policy/all_columns.h"
#include "policy/bf16.h"
#include "policy/no_ahead.h"
#include "policy/tiles.h"

#define WEI_SHIFT 0

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

#include "policy/tiles_multiply.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    load_words(w, p, k0, length, wei_zp, panel);
    for (int i = (length + 1) / 2 * NV; i < (length + STEP - 1) / STEP * 16 * NV; ++i)
        panel[i] = 0;
    const struct b_panel b = {(ulong)panel, panel};
    return b;
}

// Zero points of the weights are subtracted from the weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

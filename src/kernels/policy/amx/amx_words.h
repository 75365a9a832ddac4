// SPDX-License-Identifier: Apache-2.0
// The words of policy/cpu/words.h by the tiles of AMX. Weights become a panel of words. The policy that
// includes this has included bf16.h or f16.h, and defines TILE_PRODUCT(sum, src, wei), the instruction.
#pragma once

#include "owner/work_item.h"
#include "policy/amx/tiles.h"
#include "policy/cpu/words.h"
#include "policy/shared/all_columns.h"
#include "policy/shared/no_ahead.h"

#define WEI_SHIFT 0

// Adds up the first elements of all words apart from the second ones, as the instruction does. The
// hardware takes denormals of bf16 as 0, this does not.
static __attribute__((noinline)) void multiply_tile_words(__private struct tile_rows16 *sum,
                                                          __private const struct tile_rows16 *src,
                                                          __private const struct tile_rows16 *wei) {
    for (int i = 0; i < 16; ++i) {
        __private const int *words = (__private const int *)&src->row[i];
        float16 first = 0, second = 0;
        for (int k = 0; k < 16; ++k) {
            first = fma(first_of_words((int16)words[k]), first_of_words(wei->row[k]), first);
            second = fma(second_of_words((int16)words[k]), second_of_words(wei->row[k]), second);
        }
        sum->row[i] = as_int16(as_float16(sum->row[i]) + (first + second));
    }
}

// sum += src * wei. The sums are the bits of f32.
#define TILE_MULTIPLY(tiles, sum, src, wei)                                                                  \
    (tiles_in_software() ? multiply_tile_words(&(tiles)[sum], &(tiles)[src], &(tiles)[wei])                  \
                         : TILE_PRODUCT(sum, src, wei))

#include "policy/amx/tiles_multiply.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    load_words(w, p, k0, length, wei_zp, panel);
    for (int i = (length + 1) / 2 * NV; i < (length + STEP - 1) / STEP * 16 * NV; ++i) {
        panel[i] = 0;
        if (SPLITS_WEI)
            panel[i + PANEL_PART] = 0;
    }
    return (struct b_panel){(ulong)panel, (ulong)(panel + length / STEP * 16 * NV)};
}

// Zero points of the weights are subtracted from the weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

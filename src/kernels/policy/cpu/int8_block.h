// SPDX-License-Identifier: Apache-2.0
// The weights of a block for 8-bit dot products: a panel of quads (int8_panel.h), or packed weights
// where they are.
#pragma once

#ifndef AT_ONCE
#include "policy/shared/all_columns.h"
#endif
#include "policy/cpu/int8_panel.h"
#include "policy/cpu/next_block.h"
#include "policy/shared/no_ahead.h"
#include "policy/shared/prefetch.h"

#define ANY_ROW_COUNT 1
#define SUM_FACTOR 1.f
#define WEI_SHIFT wei_shift()
#define QUADS_OF_PANEL (TILE_K / 4 * NV)
#ifdef WIDENS_PANEL
#define PANEL_VECTORS (2 * QUADS_OF_PANEL)
#else
#define PANEL_VECTORS QUADS_OF_PANEL
#endif
typedef vec_i panel_vec;

// The weights of a block. A quad is four elements of K of a column. If wei_in_place(), quad k of
// the columns from n on begins at element first + 4 * (k * PACKED_N + n) of wei. Else it is
// panel[k * NV + n / LANES].
struct b_panel {
    bytes wei;
    long first; // the element at which the block begins
    __private const vec_i *panel;
    tensor plain;
    int columns;
};

static inline vec_i load_b_quads(struct b_panel b, int k, int v) {
    return wei_in_place() ? load_packed_quads(b.wei, b.first + 4 * (k * PACKED_N + v * LANES))
                          : b.panel[k * NV + v];
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    struct b_panel b;
    b.wei = w->wei;
    b.first = block_begin(w, p, k0);
    b.panel = panel;
    b.plain = &p->wei;
    b.columns = w->columns;
    if (wei_in_place())
        return b;
#ifdef WIDENS_PANEL
    if (panel_has_words())
        panel += QUADS_OF_PANEL;
#endif
    if (spec_wei_unit() == UNIT_PACKED)
        for (int k = 0; k < (length + 3) / 4; ++k)
            for (int v = 0; v < NV; ++v)
                panel[k * NV + v] = load_packed_quads(w->wei, b.first + 4 * (k * PACKED_N + v * LANES));
    else if (!HAS(FLAG_ALONG_K) && !multiplies_along_n())
        pack_panel(w->wei, &p->wei, b.first, length, w->columns, (__private int *)panel);
#ifdef WIDENS_PANEL
    if (panel_has_words())
        widen_panel((length + 3) / 4, panel, panel - QUADS_OF_PANEL);
#endif
    return b;
}

// Prefetches the next group of rows of src: their pieces are too short for the hardware's
// prefetchers.
static inline void prefetch_a(bytes src, __private const long *rows, int count, long k0, int length) {
    if (HAS(FLAG_ALONG_K) || multiplies_along_n()) // few rows stay in the caches
        return;
#pragma unroll 1
    for (int i = 0; i < count; ++i)
#pragma unroll 1
        for (int k = 0; k < length; k += 64)
            prefetch_line(src + rows[i] + k0 + k);
}

// Prefetches one of `parts` parts of the weights of the next block. A part is for a group of rows. Weights
// that become a panel go into the L2 cache only, if rows are few: the L1 cache has the panel of this block,
// and there is little time for both. So do those along N: a line of each row would displace the panel's in a
// few sets of the L1 cache.
static inline void prefetch_b(struct b_panel b, int length, int part, int parts) {
    if (HAS(FLAG_ALONG_K) || multiplies_along_n()) // the loops prefetch
        return;
    if (wei_in_place() && parts <= 3) // it would delay the loads of this block
        return;
    const bool into_l1 = wei_in_place() || (parts > 8 && spec_wei_unit() != UNIT_COLUMN);
    prefetch_next_block(b.wei, b.plain, b.first, b.columns, length, part, parts, into_l1);
}

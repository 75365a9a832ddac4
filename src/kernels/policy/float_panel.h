// SPDX-License-Identifier: Apache-2.0
// Weights of any type and layout as f32.
#pragma once

#include "policy/prefetch.h"
#include "policy/work_item_wei.h"
#include "spec.h"
#include "tensor.h"
#if LANES > 1
#include "transpose.h"

// Element j of each quad that load_packed() returns: an integer as s32, or the code of a float.
static inline vec_i of_quads(vec_i quads, int j) {
    const int bits = wei_bits();
    if (wei_is_signed())
        return (quads << (32 - bits - bits * j)) >> (32 - bits);
    return (quads >> (bits * j)) & ((1 << bits) - 1);
}

static inline vec_f values_of_quads(vec_i quads, int j) {
    const vec_i elements = of_quads(quads, j);
    switch (spec_wei_dt()) {
    case DT_F8_E5M2:
        return from_f8_e5m2_vec(elements);
    case DT_F8_E4M3:
        return from_f8_e4m3_vec(elements);
    case DT_F4_E2M1:
        return from_f4_e2m1_vec(elements);
    }
    return to_vec_f(elements);
}

// Loads a panel's columns n .. n + 15 from weights that are contiguous along K. Columns past the
// end repeat the last one. Returns how many elements of K it loaded, a multiple of 16.
static inline int load_along_k(bytes wei, tensor t, long begin, int n, int columns, long k0, int length,
                               __private float *panel) {
    int16 r[16];
    int k = 0;
    for (; k + 16 <= length; k += 16) {
        for (int i = 0; i < 16; ++i)
            r[i] = as_int16(
                load_float16(wei, spec_wei_dt(), begin + min(n + i, columns - 1) * t->column + k0 + k));
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
            vstore16(load_float16(wei, spec_wei_dt(), row + n), 0, panel + k * TILE_N + n);
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
                vstore16(load_float16(wei, spec_wei_dt(), begin + (k0 + k) * t->row + n), 0,
                         panel + k * TILE_N + n);
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

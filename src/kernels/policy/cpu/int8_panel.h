// SPDX-License-Identifier: Apache-2.0
// A panel of 8-bit or 4-bit integer weights for 8-bit dot products: [K / 4][TILE_N] quads. A quad
// is a 32-bit element with four elements of K of one column in its bytes. The header included
// before this one says which bytes are multiplied: policy/cpu/unlike_bytes.h or policy/cpu/equal_bytes.h.
// It defines to_domain(), which converts quads of weights to them.
#pragma once

#include "args/matmul_args.h"
#include "arithmetic/transpose.h"
#include "policy/cpu/work_item_wei.h"
#include "problem/spec.h"
#include "problem/tensor.h"

// Moves the four 4-bit values in the low 16 bits to the low halves of four bytes.
#define SPREAD_NIBBLES(T, x)                                                                                 \
    ({                                                                                                       \
        const T pairs = ((x) | ((x) << 8)) & 0x00ff00ff;                                                     \
        (pairs | (pairs << 4)) & 0x0f0f0f0f;                                                                 \
    })

static inline int16 spread_eights(int8 eights) {
    int16 fours;
    fours.even = eights & 0xffff;
    fours.odd = as_int8(as_uint8(eights) >> 16);
    return SPREAD_NIBBLES(int16, fours);
}

// Moves the four 2-bit values in the low 8 bits to four bytes.
#define SPREAD_QUARTERS(T, x)                                                                                \
    ({                                                                                                       \
        const T halves = ((x) | ((x) << 12)) & 0x000f000f;                                                   \
        (halves | (halves << 6)) & 0x03030303;                                                               \
    })

// Loads 32 contiguous elements of K of each of two columns, as 8 quads each.
static inline int16 load_two_columns(bytes wei, long first, long second) {
    if (!wei_is_small_int())
        return (int16)(vload8(0, (global const int *)(wei + first)),
                       vload8(0, (global const int *)(wei + second)));
    if (wei_bits() == 2) {
        const int16 fours =
            convert_int16((uchar16)(vload8(0, wei + (first >> 2)), vload8(0, wei + (second >> 2))));
        return SPREAD_QUARTERS(int16, fours);
    }
    return spread_eights((int8)(vload4(0, (global const int *)(wei + (first >> 1))),
                                vload4(0, (global const int *)(wei + (second >> 1)))));
}

// Loads 16 contiguous elements of one row of K, one to each element of the vector.
static inline int16 load_along_n(bytes wei, long i) {
    if (!wei_is_small_int())
        return convert_int16(vload16(0, wei + i));
    return convert_int16(wei_bits() == 2 ? load_quarters16(wei + (i >> 2)) : load_nibbles16(wei + (i >> 1)));
}

// Loads one quad element by element. Elements from `count` on are 0 before the conversion.
static inline int load_quad(bytes wei, tensor t, long column, long k, int count) {
    int quad = 0;
    for (int j = 0; j < count; ++j)
        quad |= (load_int(wei, spec_wei_dt(), column + (k + j) * t->row) & ((1 << wei_bits()) - 1)) << 8 * j;
    return to_domain(quad);
}

// Loads the quads of LANES columns from packed weights, from element i on.
static inline vec_i load_packed_quads(bytes wei, long i) {
    const vec_i quads = load_packed(wei, i);
    return to_domain(wei_bits() == 4 ? SPREAD_NIBBLES(vec_i, quads) : quads);
}

// Packs the panel's columns n .. n + 15 from weights that are contiguous along K. begin: element
// offset of the block's first column. Columns past the end repeat the last one. Returns how many
// elements of K it packed, a multiple of 32.
static inline int pack_along_k(bytes wei, tensor t, long begin, int n, int columns, int length,
                               __private int *panel) {
    long column[16];
    column[0] = begin + min(n, columns - 1) * t->column;
#pragma unroll
    for (int i = 1; i < 16; ++i)
        column[i] = column[i - 1] + (n + i < columns ? t->column : 0);
    int k = 0;
    for (; k + 32 <= length; k += 32) {
        int16 r[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int first = first_of_pair(i);
            r[i] = load_two_columns(wei, column[first] + k, column[first + 4] + k);
        }
        transpose_pairs(r);
#pragma unroll
        for (int q = 0; q < 8; ++q)
            vstore16(to_domain(r[q]), 0, panel + (k / 4 + q) * TILE_N + n);
    }
    return k;
}

// The 2-bit parts of 16 bytes, the lowest ones first.
static inline int16 planes_of_quarters(bytes p) {
    const int4 fours = vload4(0, (global const int *)p);
    return (int16)(fours, fours >> 2, fours >> 4, fours >> 6) & 0x03030303;
}

// Loads 64 contiguous elements of one row of K as bytes. Of 4-bit types those of even columns come first, of
// 2-bit types each fourth one, from the first, second, third and fourth on.
static inline int16 load_64_along_n(bytes wei, long i) {
    if (!wei_is_small_int())
        return vload16(0, (global const int *)(wei + i));
    if (wei_bits() == 2)
        return planes_of_quarters(wei + (i >> 2));
    const int8 pairs = vload8(0, (global const int *)(wei + (i >> 1))), nibbles = 0x0f0f0f0f;
    return (int16)(pairs & nibbles, (pairs >> 4) & nibbles);
}

// Turns four rows of K of 64 elements into 64 quads, by transposing the 4 x 4 bytes of each four columns.
// quads[v] has those of each fourth element of a row, from element v on.
static inline void quads_of_columns(bytes wei, long i, long stride, __private int16 *quads) {
    int16 r[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
        r[j] = load_64_along_n(wei, i + j * stride);
    const int16 even = 0x00ff00ff, odd = ~0x00ff00ff, low = 0xffff, high = ~0xffff;
    int16 pairs[4]; // columns 0 and 2, 1 and 3 of rows 0 and 1; then of rows 2 and 3
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
        pairs[j] = (r[j] & even) | ((r[j + 1] << 8) & odd);
        pairs[j + 1] = (as_int16(as_uint16(r[j]) >> 8) & even) | (r[j + 1] & odd);
    }
    quads[0] = (pairs[0] & low) | (pairs[2] << 16);
    quads[1] = (pairs[1] & low) | (pairs[3] << 16);
    quads[2] = as_int16(as_uint16(pairs[0]) >> 16) | (pairs[2] & high);
    quads[3] = as_int16(as_uint16(pairs[1]) >> 16) | (pairs[3] & high);
}

// Puts what belongs to the columns of quads_of_columns() into their order in memory: 16 of them in a vector.
static inline void order_columns(__private int16 *x) {
    if (wei_bits() == 2) {
        const int16 y[4] = {x[0], x[1], x[2], x[3]};
        x[0] = (int16)(y[0].s048c, y[1].s048c, y[2].s048c, y[3].s048c);
        x[1] = (int16)(y[0].s159d, y[1].s159d, y[2].s159d, y[3].s159d);
        x[2] = (int16)(y[0].s26ae, y[1].s26ae, y[2].s26ae, y[3].s26ae);
        x[3] = (int16)(y[0].s37bf, y[1].s37bf, y[2].s37bf, y[3].s37bf);
        return;
    }
    interleave_fours(x);
    if (!wei_is_small_int())
        return;
    const int16 q[4] = {x[0], x[1], x[2], x[3]};
#pragma unroll
    for (int v = 0; v < 4; v += 2) {
        x[v] = LOWER_HALVES(q[v / 2], q[v / 2 + 2]);
        x[v + 1] = UPPER_HALVES(q[v / 2], q[v / 2 + 2]);
    }
}

// Packs the panel's columns from n on, 64 if `wide`, else 16, from weights that are contiguous
// along N. Returns how many elements of K it packed, a multiple of 4.
static inline int pack_along_n(bytes wei, tensor t, long begin, int n, bool wide, int length,
                               __private int *panel) {
    const long from = begin + n;
    int k = 0;
    for (; k + 4 <= length; k += 4) {
        if (wide) {
            int16 quads[4];
            quads_of_columns(wei, from + k * t->row, t->row, quads);
            order_columns(quads);
#pragma unroll
            for (int v = 0; v < 4; ++v)
                vstore16(to_domain(quads[v]), v, panel + k / 4 * TILE_N + n);
            continue;
        }
        int16 quads = 0;
        for (int j = 0; j < 4; ++j)
            quads |= load_along_n(wei, from + (k + j) * t->row) << (8 * j);
        vstore16(to_domain(quads), 0, panel + k / 4 * TILE_N + n);
    }
    return k;
}

// Whether a few rows are multiplied with the weights of a tile without a panel (policy/cpu/int8_along_n.h).
// The host sets the flag for weights along N only if all tiles have 64 columns and K is a multiple of 4
// (reads_rows in src/matmul/choose/arithmetic.cpp).
static inline bool multiplies_along_n() {
    return spec_wei_unit() == UNIT_COLUMN && HAS(FLAG_ONE_GROUP);
}

// Packs the panel of a block. begin: element offset of the block in wei.
static inline void pack_panel(bytes wei, tensor t, long begin, int length, int columns,
                              __private int *panel) {
    const bool wide = TILE_N == 64 && spec_wei_unit() == UNIT_COLUMN && columns == 64;
    const int step = wide ? 64 : 16;
    for (int n = 0; n < TILE_N; n += step) {
        int k = 0;
        if (spec_wei_unit() == UNIT_ROW)
            k = pack_along_k(wei, t, begin, n, columns, length, panel);
        else if (spec_wei_unit() == UNIT_COLUMN && n + 16 <= columns)
            k = pack_along_n(wei, t, begin, n, wide, length, panel);
        for (; k < length; k += 4)
            for (int i = n; i < n + step; ++i)
                panel[k / 4 * TILE_N + i] =
                    load_quad(wei, t, begin + min(i, columns - 1) * t->column, k, min(4, length - k));
    }
}

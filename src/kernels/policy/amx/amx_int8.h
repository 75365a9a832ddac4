// SPDX-License-Identifier: Apache-2.0
// Bytes by bytes and 4-bit integers, by the tiles of AMX. Tiles take signed and unsigned bytes alike.
#pragma once

#include "owner/work_item.h"
#include "policy/cpu/equal_bytes.h"

#define TILE_BYTES spec_tile_bytes()
#define MOST_SEGMENTS 32

#include "policy/amx/tiles.h"
#include "policy/cpu/int8_panel.h"
#include "policy/shared/all_columns.h"
#include "policy/shared/no_ahead.h"

#define WEI_SHIFT 0
#define STEP 64

// Weights that are read from where they are need no panel, so all of K may be one block.
#define LONGEST_IN_PLACE 16384
#define POLICY_BLOCK_K (wei_in_place() ? LONGEST_IN_PLACE : TILE_K)

TILE_INTRINSIC x86_tdpbssd(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbssd");
TILE_INTRINSIC x86_tdpbsud(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbsud");
TILE_INTRINSIC x86_tdpbusd(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbusd");
TILE_INTRINSIC x86_tdpbuud(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbuud");

// Byte j of the words of a vector, as s32.
static inline __attribute__((overloadable)) int16 byte_of(int16 words, int j, bool is_signed) {
    const int16 high = words << (24 - 8 * j);
    return is_signed ? high >> 24 : as_int16(as_uint16(high) >> 24);
}
static inline __attribute__((overloadable)) int byte_of(int word, int j, bool is_signed) {
    const int high = word << (24 - 8 * j);
    return is_signed ? high >> 24 : (int)((uint)high >> 24);
}

static __attribute__((noinline)) void multiply_tile_bytes(__private struct tile_rows16 *sum,
                                                          __private const struct tile_rows16 *src,
                                                          __private const struct tile_rows16 *wei,
                                                          bool src_is_signed, bool wei_is_signed) {
    for (int k = 0; k < 16; ++k)
        for (int j = 0; j < 4; ++j) {
            const int16 w = byte_of(wei->row[k], j, wei_is_signed);
            for (int i = 0; i < 16; ++i)
                sum->row[i] += byte_of(((__private const int *)&src->row[i])[k], j, src_is_signed) * w;
        }
}

// sum += src * wei, of bytes.
#define TILE_MULTIPLY(tiles, sum, src, wei)                                                                  \
    (tiles_in_software() ? multiply_tile_bytes(&(tiles)[sum], &(tiles)[src], &(tiles)[wei], src_is_signed(), \
                                               wei_is_signed())                                              \
     : src_is_signed()   ? (wei_is_signed() ? x86_tdpbssd(sum, src, wei) : x86_tdpbsud(sum, src, wei))       \
                         : (wei_is_signed() ? x86_tdpbusd(sum, src, wei) : x86_tdpbuud(sum, src, wei)))

static inline bool src_in_place() {
    return true;
}

// One step of a row of src from element i on, with zeros behind `length` elements.
static inline void copy_src_row(__private uchar *to, bytes src, long i, int length) {
    if (length == STEP) {
        vstore16(vload16(0, (global const int *)(src + i)), 0, (__private int *)to);
        return;
    }
    vstore16((int16)0, 0, (__private int *)to);
    for (int k = 0; k < length; ++k)
        to[k] = src[i + k];
}

#include "policy/amx/tiles_multiply.h"

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    // Of weights in place the panel has the last step only.
    const int step = TILE_BYTES, quads = TILE_BYTES / 4;
    const int filled = length / step * quads, begin = wei_in_place() ? filled : 0;
    const int rows = (length + 3) / 4 - begin, padded = (length + step - 1) / step * quads - begin;
    const long first = block_begin(w, p, k0);
    if (spec_wei_unit() == UNIT_PACKED)
        for (int k = 0; k < rows; ++k)
            for (int v = 0; v < NV; ++v)
                panel[k * NV + v] =
                    load_packed_quads(w->wei, first + 4 * ((begin + k) * PACKED_N + v * LANES));
    else
        pack_panel(w->wei, &p->wei, first, length, w->columns, (__private int *)panel);
    for (int i = rows * NV; i < padded * NV; ++i)
        panel[i] = 0;
    return (struct b_panel){wei_in_place() ? (ulong)(w->wei + first) : (ulong)panel,
                            (ulong)(panel + (filled - begin) * NV)};
}

// sum[v] += the sum of the panel's column vector v along K: the products with a row of ones.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
    struct tile_rows16 tiles[8];
    int16 ones = 0x01010101, sums[16];
    const int filled = length / TILE_BYTES;
    TILE_ZERO(tiles, 0);
    TILE_ZERO(tiles, 1);
    TILE_ZERO(tiles, 2);
    TILE_ZERO(tiles, 3);
#pragma unroll 1
    for (int s = 0; s * TILE_BYTES < length; ++s) {
        if (s == filled)
            for (int k = length - s * TILE_BYTES; k < TILE_BYTES; ++k)
                ((__private uchar *)&ones)[k] = 0;
        const ulong wei = wei_step(b, s, filled);
        TILE_LOAD(tiles, 4, (ulong)&ones, 0);
        TILE_LOAD(tiles, 6, wei, WEI_ROW);
        TILE_MULTIPLY(tiles, 0, 4, 6);
        TILE_LOAD(tiles, 7, wei + 64, WEI_ROW);
        TILE_MULTIPLY(tiles, 1, 4, 7);
        TILE_LOAD(tiles, 6, wei + 128, WEI_ROW);
        TILE_MULTIPLY(tiles, 2, 4, 6);
        TILE_LOAD(tiles, 7, wei + 192, WEI_ROW);
        TILE_MULTIPLY(tiles, 3, 4, 7);
    }
    // All rows of the sums are equal.
    TILE_STORE(tiles, 0, (ulong)sums, 64);
    sum[0] += sums[0];
    TILE_STORE(tiles, 1, (ulong)sums, 64);
    sum[1] += sums[0];
    TILE_STORE(tiles, 2, (ulong)sums, 64);
    sum[2] += sums[0];
    TILE_STORE(tiles, 3, (ulong)sums, 64);
    sum[3] += sums[0];
}

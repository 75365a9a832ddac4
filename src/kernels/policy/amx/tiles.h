// SPDX-License-Identifier: Apache-2.0
// The tiles of AMX: eight registers of 16 rows of 64 bytes. A product takes a tile of src (16 rows
// of 16 words along K), a tile of weights (16 words along K of 16 columns) and adds to a tile of
// sums (16 rows of 16 columns). A word is four bytes, or two bf16.
//
// With TILES_IN_SOFTWARE the same code runs on any CPU: tiles are arrays in private memory. The
// intrinsics must then not reach the compiler of a CPU without AMX, where they end the process; the
// branches on the specialisation constant are gone by then.
//
// Numbers of tiles are operands of the instructions and have to be literals, so the operations are
// macros. Tiles 0 to 3 are for sums, 4 and 5 for src, 6 and 7 for weights. `tiles` is the array of the tiles
// in software, and addresses are ulong: to x86 private and global memory are the same.
#pragma once

#include "problem/spec.h"

// Bytes of K in the tiles of src and of weights: 64, or 32. A policy may define it.
#ifndef TILE_BYTES
#define TILE_BYTES 64
#endif

struct tile_rows16 {
    int16 row[16];
};

static inline bool tiles_in_software() {
    return spec_tiles() == TILES_IN_SOFTWARE;
}

#define TILE_INTRINSIC void __attribute__((overloadable))
TILE_INTRINSIC x86_ldtilecfg(__private const void *config) __asm("llvm.x86.ldtilecfg");
TILE_INTRINSIC x86_sttilecfg(__private void *config) __asm("llvm.x86.sttilecfg");
TILE_INTRINSIC x86_tilezero(uchar tile) __asm("llvm.x86.tilezero");
TILE_INTRINSIC x86_tileload(uchar tile, __private const void *from,
                            ulong stride) __asm("llvm.x86.tileloadd64");
TILE_INTRINSIC x86_tilestore(uchar tile, __private void *to, ulong stride) __asm("llvm.x86.tilestored64");

// Gives tiles 16 rows of 64 bytes, or those of src rows of TILE_BYTES and those of weights as many words of
// rows. The configuration belongs to the thread, which may be one of the program's: `before` gets what it
// has.
static inline void configure_tiles(__private ulong8 *before) {
    if (tiles_in_software())
        return;
    x86_sttilecfg(before);
    // Palette 1; then from byte 16 on the row lengths, 16 bits each, and from byte 48 on the rows.
    const bool is_half = TILE_BYTES == 32;
    const ulong8 config = {1,
                           0,
                           0x0040004000400040,
                           is_half ? 0x0040004000200020 : 0x0040004000400040,
                           0,
                           0,
                           is_half ? 0x0808101010101010 : 0x1010101010101010,
                           0};
    x86_ldtilecfg(&config);
}

// Programs configure a thread's tiles once, as ggml does, and their next tile would be an illegal
// instruction. A thread that had none has none again: such ones switch faster.
static inline void restore_tiles(__private const ulong8 *before) {
    if (!tiles_in_software())
        x86_ldtilecfg(before);
}

static __attribute__((noinline)) void load_tile(__private struct tile_rows16 *tile, ulong from,
                                                ulong stride) {
    for (int i = 0; i < 16; ++i)
        tile->row[i] = vload16(0, (__private const int *)(from + i * stride));
}
// The same of a tile with half of the bytes of K. The other half becomes 0.
static __attribute__((noinline)) void load_half_tile(__private struct tile_rows16 *tile, bool is_src,
                                                     ulong from, ulong stride) {
    for (int i = 0; i < 16; ++i)
        tile->row[i] = 0;
    for (int i = 0; i < (is_src ? 16 : 8); ++i) {
        __private const int *row = (__private const int *)(from + i * stride);
        tile->row[i] = is_src ? (int16)(vload8(0, row), (int8)0) : vload16(0, row);
    }
}
static __attribute__((noinline)) void store_tile(__private const struct tile_rows16 *tile, ulong to,
                                                 ulong stride) {
    for (int i = 0; i < 16; ++i)
        vstore16(tile->row[i], 0, (__private int *)(to + i * stride));
}
static __attribute__((noinline)) void clear_tile(__private struct tile_rows16 *tile) {
    for (int i = 0; i < 16; ++i)
        tile->row[i] = 0;
}

#define TILE_ZERO(tiles, number) (tiles_in_software() ? clear_tile(&(tiles)[number]) : x86_tilezero(number))
#define TILE_LOAD(tiles, number, from, stride)                                                               \
    (tiles_in_software()                                                                                     \
         ? (TILE_BYTES == 32 && (number) >= 4 ? load_half_tile(&(tiles)[number], (number) < 6, from, stride) \
                                              : load_tile(&(tiles)[number], from, stride))                   \
         : x86_tileload(number, (__private const void *)(from), stride))
#define TILE_STORE(tiles, number, to, stride)                                                                \
    (tiles_in_software() ? store_tile(&(tiles)[number], to, stride)                                          \
                         : x86_tilestore(number, (__private void *)(to), stride))

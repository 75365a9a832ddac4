// SPDX-License-Identifier: Apache-2.0
// Measures the rate of products of tiles (policy/amx/tiles.h): a loop of them, with all tiles loaded before.
// The row in kernels.def names the INSTRUCTION and the kernel, PEAK. With tiles in software nothing is
// multiplied, so that the module can be built for any CPU.
#include "policy/amx/tiles.h"

TILE_INTRINSIC x86_product(uchar sum, uchar src, uchar wei) __asm("llvm.x86." INSTRUCTION);

// The hint keeps the OpenCL CPU runtime from making code for several work-items at once, which would mix
// up their tiles.
#define ATTRIBUTES __attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))

#define MULTIPLY(sum, src, wei)                                                                              \
    do {                                                                                                     \
        if (!tiles_in_software())                                                                            \
            x86_product(sum, src, wei);                                                                      \
    } while (0)

// Each work-item executes steps * 4 products, with four tiles of sums, which hides the latency of the
// instruction. factors: a vector, which is each row of all factors. sums: one vector for each work-item.
ATTRIBUTES kernel void PEAK(global const int16 *factors, global int16 *sums, long steps) {
    struct tile_rows16 tiles[8];
    int16 rows[16];
    const ulong from = (ulong)factors, to = (ulong)rows;
    ulong8 before;
    configure_tiles(&before);
    TILE_ZERO(tiles, 0);
    TILE_ZERO(tiles, 1);
    TILE_ZERO(tiles, 2);
    TILE_ZERO(tiles, 3);
    TILE_LOAD(tiles, 4, from, 0);
    TILE_LOAD(tiles, 5, from, 0);
    TILE_LOAD(tiles, 6, from, 0);
    TILE_LOAD(tiles, 7, from, 0);
#pragma unroll 1
    for (long step = 0; step < steps; ++step) {
        MULTIPLY(0, 4, 6);
        MULTIPLY(1, 4, 7);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
    int16 total = 0;
    TILE_STORE(tiles, 0, to, 64);
    total += rows[0];
    TILE_STORE(tiles, 1, to, 64);
    total += rows[0];
    TILE_STORE(tiles, 2, to, 64);
    total += rows[0];
    TILE_STORE(tiles, 3, to, 64);
    total += rows[0];
    restore_tiles(&before);
    sums[get_global_id(0)] = total;
}

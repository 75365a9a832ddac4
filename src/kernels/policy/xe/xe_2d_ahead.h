// SPDX-License-Identifier: Apache-2.0
// Prefetches the next block of src and weights while one is multiplied. Each lane prefetches one
// cache line of each. The sub-groups of a work-group share this work: neighbours in x have the same
// rows of src, neighbours in y the same columns of weights.
#pragma once

#include "policy/xe/xe_2d_src.h"
#include "policy/xe/xe_2d_wei.h"

void __builtin_IB_lsc_prefetch_global_uint(global const uint *base, int offset, int cache);
#define CACHE_L1_L3 4

struct ahead {
    bytes src, wei;          // the cache lines of this lane
    long src_step, wei_step; // bytes from block to block
};

// Byte offset of cache line i of a block of `rows` rows of `width` bytes, `pitch` bytes apart. Past
// the end it is the last line.
static inline long line_at(int i, int rows, int width, long pitch) {
    const int lines = (width + 63) / 64;
    const int line = min(i, rows * lines - 1);
    return line / lines * pitch + line % lines * 64;
}

// The lines of the block after the one at k0. shared: the sub-groups of the work-group have the
// same part of K.
static inline struct ahead look_ahead(global const struct matmul_problem *p,
                                      __private const struct tile_rows *rows, const struct wei_source *w,
                                      long k0, bool shared) {
    const int lane = get_sub_group_local_id(), block = BLOCK_K;
    const int x = (shared ? (int)get_local_id(0) / LANES * LANES : 0) + lane;
    const int y = (shared ? (int)get_local_id(1) * LANES : 0) + lane;
    const int count = min(TILE_M, (int)p->rows - rows->first);
    struct ahead a;
    a.src_step = block * src_bytes();
    a.src = (bytes)rows->matrix.base + rows->matrix.x0 + (long)rows->first * rows->matrix.pitch +
            k0 * src_bytes() + a.src_step + line_at(x, count, block * src_bytes(), rows->matrix.pitch);
    const int bits = wei_bits(), pitch = w->matrix.pitch;
    if (spec_wei_unit() == UNIT_ROW) {
        const int columns = min(TILE_N, (int)(p->n - w->first));
        a.wei_step = block * bits / 8;
        a.wei = (bytes)w->matrix.base + w->matrix.x0 + w->first * pitch +
                line_at(y, columns, block * bits / 8, pitch);
    } else {
        const int per_row = spec_wei_unit() == UNIT_PACKED ? packed_row_length() : 1; // of K
        a.wei_step = (long)(block / per_row) * pitch;
        a.wei = (bytes)w->matrix.base + w->x * per_row * bits / 8 +
                line_at(y, block / per_row, TILE_N * per_row * bits / 8, pitch);
    }
    a.wei += (k0 / block + 1) * a.wei_step;
    return a;
}

static inline void prefetch_block(__private struct ahead *a) {
    if (spec_src_load() == SRC_LOAD_2D)
        __builtin_IB_lsc_prefetch_global_uint((global const uint *)a->src, 0, CACHE_L1_L3);
    if (HAS(FLAG_WEI_2D) || spec_wei_unit() == UNIT_PACKED)
        __builtin_IB_lsc_prefetch_global_uint((global const uint *)a->wei, 0, CACHE_L1_L3);
    a->src += a->src_step;
    a->wei += a->wei_step;
}

// SPDX-License-Identifier: Apache-2.0
// Loads of src and weights by 2-D block loads, in sub-groups of 16. As xe_1d.h it defines
//   load_a                                        eight rows of src
//   struct wei_source, open_wei, read_steps       the weights
//   struct ahead, look_ahead, prefetch_block      prefetches
#pragma once

#include "owner/sub_group.h"
#include "owner/sub_group/surface.h"
#include "policy/xe/xe_steps.h"

// Policies call the builtins behind cl_intel_subgroup_2d_block_io, which return what they read.
// Older compilers do not have the extension, and have the builtins only for some shapes.
// u8_m8k32v2: 8 rows of two blocks of 32 bytes, here as ints, eight lanes a row. transform:
// neighbouring rows become neighbours in an int. transpose: rows become lanes.
#define DECLARE_READ_2D(shape, type)                                                                         \
    type __builtin_IB_subgroup_block_read_flat_##shape(long base, int width_less_1, int height_less_1,       \
                                                       int pitch_less_1, int2 at);
DECLARE_READ_2D(u8_m8k32v2, uint8)
DECLARE_READ_2D(transform_u8_k32, uint8)
DECLARE_READ_2D(transform_u16_k16, uint8)
DECLARE_READ_2D(transpose_u32_k8, uint8)

// at: x in elements, y in rows.
#define READ_2D(shape, s, at)                                                                                \
    __builtin_IB_subgroup_block_read_flat_##shape((long)(s).base, (s).width - 1, (s).height - 1,             \
                                                  (s).pitch - 1, at)

// a[s]: step s of rows i0 .. i0 + 7 of the tile, in the block from element k0 of K on.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private a_rows *a) {
    const int row = rows->first + i0;
    if (spec_src_load() != SRC_LOAD_2D) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, row, (int)k0 + s * STEP_K);
        return;
    }
    const int size = src_bytes();
    const struct surface m = rows->matrix;
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        const int2 at = (int2)(m.x0 + (int)k0 * size + s * STEP_BYTES, row);
        if (has_step(s + 1)) {
            const uint8 two = READ_2D(u8_m8k32v2, m, at);
            a[s] = two.lo;
            a[s + 1] = two.hi;
        } else if (has_step(s)) {
            a[s] = READ_2D(u8_m8k32v2, m, at).lo;
        }
    }
}

// The weights of a tile as a matrix. Each lane gets its column, with elements of K side by side in ints. Of
// packed weights it is the panel of 64 columns: a row has four elements of K for types of at most 8 bits, one
// for others, and 2-D block loads count in columns.
struct wei_source {
    struct surface matrix;
    // The x coordinate for 2-D block loads of the tile's first column (packed, tag ab) or of the
    // first element of K (tag ba).
    int x;
    long begin, first; // element offset of the batch's matrix; the tile's first column
    bytes wei;
};

// n0: this lane's first column.
static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    const int bits = wei_bits();
    struct wei_source w;
    w.wei = wei;
    w.begin = begin;
    w.first = sub_group_broadcast(n0, 0);
    if (spec_wei_unit() == UNIT_PACKED) {
        const int pitch = PACKED_N * packed_row_length() * bits / 8;
        w.matrix = make_surface(wei + (begin + w.first / PACKED_N * p->wei_panel) * bits / 8, pitch,
                                packed_rows(p), pitch);
        w.x = w.matrix.x0 * PACKED_N / pitch + (int)(w.first % PACKED_N);
    } else if (spec_wei_unit() == UNIT_COLUMN) {
        w.matrix = make_surface(wei + begin * bits / 8, p->n * bits / 8, p->k, p->wei.row * bits / 8);
        w.x = w.matrix.x0 * 8 / bits + (int)w.first;
    } else {
        w.matrix = make_surface(wei + begin * bits / 8, p->k * bits / 8, p->n, p->wei.column * bits / 8);
        w.x = w.matrix.x0 / 4;
    }
    return w;
}

// Eight rows from `row` on of this lane's column, which is column n of the tile for lane 0: packed
// 8-bit weights, four of K in each int, or f32. It uses ordinary loads, because compilers with only
// some shapes of 2-D block loads have none for whole ints. Rows behind the last one are 0.
static inline int8 read_ints(const struct wei_source *w, int n, int row) {
    const bool packed = spec_wei_unit() == UNIT_PACKED;
    const int x = w->x + n + (int)get_sub_group_local_id();
    global const int *column =
        (global const int *)w->matrix.base + (packed ? x : min(x, w->matrix.width / 4 - 1));
    const int pitch = packed ? PACKED_N : w->matrix.pitch / 4;
    column += (long)row * pitch;
    int words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const bool there = !HAS(FLAG_PANEL_TAIL) || row + i < w->matrix.height;
        words[i] = there ? column[i * pitch] : 0;
    }
    return vload8(0, words);
}

// Reads packed 2-bit weights as bytes.
static inline int8 read_quarters(const struct wei_source *w, int n, int row) {
    const int x = w->x + n + (int)get_sub_group_local_id();
    global const uint *at = (global const uint *)w->matrix.base + (long)row * QUARTERS_ROW + x / 4;
    uint words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const bool there = !HAS(FLAG_PANEL_TAIL) || row + i < w->matrix.height;
        words[i] = bytes_of_quarters(there ? at[i * QUARTERS_ROW] : 0, x);
    }
    return as_int8(vload8(0, words));
}

// Reads two steps, the second only if `both`, of the LANES columns from column n of the tile on,
// from element k on. n is the same in all lanes.
static inline void read_columns(const struct wei_source *w, global const struct matmul_problem *p, int n,
                                int k, bool both, __private int8 *first, __private int8 *second) {
    const struct surface m = w->matrix;
    const int bits = wei_bits(), step = wei_step(), x = w->x + n;
    if (spec_wei_unit() == UNIT_PACKED && bits == 8) {
        *first = read_ints(w, n, k / 4);
        if (both)
            *second = read_ints(w, n, (k + step) / 4);
    } else if (spec_wei_unit() == UNIT_PACKED && bits == 2) {
        *first = read_quarters(w, n, k / 4);
        if (both)
            *second = read_quarters(w, n, (k + step) / 4);
    } else if (spec_wei_unit() == UNIT_PACKED && bits == 4) {
        // A row of 16-bit units has four nibbles a column; two rows make an int of eight of K.
        const int8 two = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k / 4)));
        *first = (int8)(two.lo, (int4)0);
        if (both)
            *second = (int8)(two.hi, (int4)0);
    } else if (spec_wei_unit() != UNIT_PACKED && !HAS(FLAG_WEI_2D)) {
        const long column = min(w->first + n + (int)get_sub_group_local_id(), p->n - 1);
        *first = gather_column(w->wei, p, w->begin + column * p->wei.column, k);
        if (both)
            *second = gather_column(w->wei, p, w->begin + column * p->wei.column, k + step);
    } else if (spec_wei_unit() == UNIT_ROW) {
        // Columns are contiguous along K: each lane reads ints of K from one row of the matrix.
        const int2 at = (int2)(w->x + k * bits / 32, (int)w->first + n);
        const int8 read = as_int8(READ_2D(transpose_u32_k8, m, at));
        *first = bits == 4 ? (int8)(read.lo, (int4)0) : read;
        if (both)
            *second = bits == 4 ? (int8)(read.hi, (int4)0)
                                : as_int8(READ_2D(transpose_u32_k8, m, at + (int2)(8, 0)));
    } else if (bits == 32) {
        *first = read_ints(w, n, k);
        if (both)
            *second = read_ints(w, n, k + step);
    } else if (bits == 8) {
        *first = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k)));
        if (both)
            *second = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k + step)));
    } else {
        *first = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k)));
        if (both)
            *second = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k + step)));
    }
}

// Reads two steps of all columns: first[v], second[v].
static inline void read_steps(const struct wei_source *w, global const struct matmul_problem *p, int k,
                              bool both, __private int8 *first, __private int8 *second) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        read_columns(w, p, v * LANES, k, both, &first[v], &second[v]);
}

// Prefetches the next block of src and weights while one is multiplied. Each lane prefetches one
// cache line of each. The sub-groups of a work-group share this work: neighbours in x have the same
// rows of src, neighbours in y the same columns of weights.
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

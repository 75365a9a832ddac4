// SPDX-License-Identifier: Apache-2.0
// The loop of the owner work_item for policies that multiply several segments in a row (KEEPS_SEGMENTS). The
// scales and zero points of up to MOST_SEGMENTS segments are kept. Then a group of rows is multiplied with
// all of them, and its results stay in registers: they are loaded and stored once for all segments.
#pragma once

#include "owner/work_item/kept_rows.h"

// A group of rows and the rows after it, which are prefetched.
struct row_group {
    int first, next;
    long next_k0;       // the first element of K that the next rows are multiplied from
    int number, groups; // of the tile
};

// Prefetches what follows a segment in time: rows of the next group, or a part of the next block's weights. A
// few lines at a time do not wait for each other.
static inline __attribute__((always_inline)) void prefetch_part(const int count, const struct row_group *g,
                                                                bool rows, bytes src,
                                                                __private const struct tile *t, int n,
                                                                int quads, struct b_panel b) {
    const int length = 4 * quads;
    if (!rows) {
        prefetch_next_block(b.wei, b.plain, b.first, b.columns, length * t->kept.count,
                            g->number * t->kept.count + n, g->groups * t->kept.count, false);
        return;
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll 1
        for (int k = 0; k < length; k += 64)
            prefetch_line_l2(src + t->rows.src[g->next + i] + g->next_k0 + n * length + k);
}

// Adds the kept segments to the results of `count` rows, and COLUMNS_AT_ONCE vectors of columns from vector
// v0 on. k0: the first element of K.
static inline __attribute__((always_inline)) void multiply_segments(const int count,
                                                                    const struct row_group *g, int v0,
                                                                    bytes src, __private struct tile *t,
                                                                    long k0, int quads, struct b_panel b) {
    vec_f results[ROWS * COLUMNS_AT_ONCE];
    vec_i sums[ROWS * COLUMNS_AT_ONCE];
    bytes a[ROWS];
    const int i0 = g->first;
    __private vec_f *all = t->result + i0 * NV + v0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
        a[i] = src + t->rows.src[i0 + i] + k0;
#pragma unroll
        for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
            results[i * COLUMNS_AT_ONCE + v] = all[i * NV + v];
    }
#pragma unroll 1
    for (int n = 0; n < t->kept.count; ++n) {
        prefetch_part(count, g, v0 == 0, src, t, n, quads, b);
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
                sums[i * COLUMNS_AT_ONCE + v] =
                    begin_sum(kept_zero_point(t, n, v0 + v), CORRECTION_OF_ROW(&t->kept, n, i0 + i));
        multiply_segment(count, v0, a, n * quads, quads, b, sums);
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
                results[i * COLUMNS_AT_ONCE + v] =
                    add_scaled(results[i * COLUMNS_AT_ONCE + v], to_vec_f(sums[i * COLUMNS_AT_ONCE + v]),
                               kept_zero_point(t, n, v0 + v), kept_scale(t, n, v0 + v),
                               CORRECTION_OF_ROW(&t->kept, n, i0 + i), SCALE_OF_ROW(&t->kept, n, i0 + i));
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
        for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
            all[i * NV + v] = results[i * COLUMNS_AT_ONCE + v];
}

// Multiplies all groups of rows of the tile with the kept segments. Groups differ by one row at most.
static inline void multiply_tile(bytes src, __private struct tile *t, long k0, int quads, struct b_panel b) {
    struct row_group g = {.groups = (t->count + ROWS - 1) / ROWS};
    const int each = t->count / g.groups;
    int larger = t->count - each * g.groups; // groups that have one row more
#pragma unroll 1
    for (; g.number < g.groups; ++g.number) {
        const int count = each + (larger-- > 0 ? 1 : 0);
        const bool is_last = g.number + 1 == g.groups; // then come the first rows of the next block
        g.next = is_last ? 0 : g.first + count;
        g.next_k0 = k0 + (is_last ? 4 * quads * t->kept.count : 0);
#pragma unroll 1
        for (int v = 0; v < NV; v += COLUMNS_AT_ONCE) {
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        multiply_segments(n, &g, v, src, t, k0, quads, b);                                                   \
        break;
            switch (count) { CASE(1) CASE(2) CASE(4) MORE_COUNTS(CASE) }
        }
        g.first += count;
    }
}

// The block is a segment. It is multiplied with those before it as soon as all that were planned are kept.
static inline void multiply_block(const struct k_block *block, bytes src,
                                  global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct wei_source *source, __private panel_vec *panel,
                                  __private struct tile *t) {
    if (block->opens)
        t->kept.count = 0;
    const int before = t->kept.count * block->length;
    struct b_panel b = load_b(source, p, block->k0, block->length, t->wei_zp, panel + before / 4 * NV);
    if (t->kept.count == 0)
        plan_segments(p, args, block, min((long)TILE_K, t->kept.end - block->k0) / block->length, t);
    if (!keep_columns(t))
        return;
    b.first -= before * PACKED_N;
    b.panel = panel;
    multiply_tile(src, t, block->k0 - before, block->length / 4, b);
    t->kept.count = 0;
}

// SPDX-License-Identifier: Apache-2.0
// The loop of the owner work_item over groups of rows. Sums stay in the arrays of struct tile.
#pragma once

#include "owner/tile.h"

static inline void go_to_columns(__private struct column_source *from, __private const struct tile *t) {
    from->n0 = t->n0;
    from->columns = t->columns;
}

// Makes tile `own` of the tiles abreast the one that t describes. Returns the number of tiles.
static __attribute__((noinline)) int go_to_tile_abreast(global const struct matmul_problem *p,
                                                        __private struct tile *t, int own) {
    const int tiles = (int)min((long)p->abreast, (p->n - t->abreast.n0 + TILE_N - 1) / TILE_N);
    if (own == tiles)
        return tiles;
    __private struct own_columns *from = &t->abreast.columns[t->abreast.at];
    __private const struct own_columns *to = &t->abreast.columns[own];
    for (int v = 0; v < NV; ++v) {
        from->wei_zp[v] = t->wei_zp[v];
        from->wei_sum[v] = t->wei_sum[v];
        from->wei_scale[v] = t->wei_scale[v];
    }
    for (int v = 0; v < NV; ++v) {
        t->wei_zp[v] = to->wei_zp[v];
        t->wei_sum[v] = to->wei_sum[v];
        t->wei_scale[v] = to->wei_scale[v];
    }
    t->abreast.at = own;
    t->n0 = t->abreast.n0 + own * TILE_N;
    t->columns = (int)min((long)TILE_N, p->n - t->n0);
    go_to_columns(&t->wei_zp_at, t);
    go_to_columns(&t->wei_scale_at, t);
    go_to_columns(&t->wei_zp_factor.from, t);
    go_to_columns(&t->wei_scale_factor.from, t);
    t->wei_zp_factor.end = t->wei_scale_factor.end = 0; // those that are kept belong to the other tile
    return tiles;
}

// Loads what all rows need where a segment begins, unless they load what they need of several at once.
static inline void load_block_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   const struct k_block *block, __private struct tile_rows *rows) {
    if (KEEPS_UNITS || (!block->first && !block->opens))
        return;
    if (HAS(FLAG_SRC_ZP))
        load_row_zero_points(args->src_zp, SRC_ZP_DT(p), args->host_src_zp, block->src_zp, rows);
#ifndef KEEPS_SEGMENTS
    if (HAS_ROW_FACTORS)
        load_row_factors(p, args, block, rows);
#endif
}

static inline int go_to_tile(global const struct matmul_problem *p, __private struct tile *t, int own) {
    return HAS(FLAG_ABREAST) ? go_to_tile_abreast(p, t, own) : 1;
}

static inline void clear_sums(global const struct matmul_problem *p, __private struct tile *t) {
    const int rows = HAS(FLAG_ABREAST) ? TILE_M : t->count;
    const int vectors = (rows + ROWS - 1) / ROWS * ROWS * NV;
    if (HAS(FLAG_ABREAST)) {
        t->abreast.at = 0;
        t->abreast.n0 = t->n0;
    }
    for (int i = 0; i < (SEGMENTS_ARE_SCALED ? vectors : 0); ++i)
        t->result[i] = (vec_f)0.f;
    // The first block of K begins the sums, but a group may have no block.
    for (int i = 0; i < (HAS_K_GROUPS(p) ? vectors : 0); ++i)
        t->sum[i] = (vec_i)0;
}

static inline __private column_f *values_of(__private struct tile *t, __private column_f *apart) {
    return SEGMENTS_ARE_SCALED ? t->result : (__private column_f *)t->sum;
}

// multiply_rows is compiled for these numbers of rows, and for 1, 2 and 4.
#if !ANY_ROW_COUNT
#define MORE_COUNTS(of)
#elif ROWS > 8
// Variants for every number from 1 to ROWS would take too long to compile.
#define MORE_COUNTS(of) of(8) of(ROWS)
#elif ROWS == 6
#define MORE_COUNTS(of) of(3) of(5) of(6)
#elif ROWS == 4
#define MORE_COUNTS(of) of(3)
#else
#error "ROWS: 4, 6 or more than 8, where a policy takes any number of rows"
#endif

// For ROWS > 8: rows of the next group if `left` rows are left, rounded up to a variant. A last
// group with too many rows repeats its last row.
static inline int next_count(int left) {
    return left > 8 ? ROWS : left > 4 ? 8 : left == 3 ? 4 : left;
}

#ifdef KEEPS_SEGMENTS
#include "owner/work_item/segments.h"
#elif defined(MULTIPLIES_UNITS)
#include "owner/work_item/units.h"
#else
// Multiplies all groups of rows of the tile. Groups differ by one row at most, unless ROWS > 8.
static inline void multiply_tile(bytes src, global const struct matmul_problem *p,
                                 const struct matmul_arguments *args, __private struct tile *t,
                                 const struct k_block *block, struct b_panel b) {
    struct row_parameters parameters;
    if (!ANY_ROW_COUNT) {
        for (int i = 0; i < t->count; i += ROWS) {
            load_row_parameters(ROWS, i, p, args, &t->rows, block, &parameters);
            multiply_rows(ROWS, i, src, p, t, &parameters, block, b);
        }
        return;
    }
    const int groups = (t->count + ROWS - 1) / ROWS;
    const int each = t->count / groups;
    int group = 0, larger = t->count - each * groups; // groups that have one row more
    for (int i = 0; i < t->count;) {
        const int count = ROWS > 8 ? next_count(t->count - i) : each + (larger-- > 0 ? 1 : 0);
        prefetch_b(b, block->length, group++, groups);
        // The next rows of this block or, at its end, the first rows of the next block.
        const bool is_last = i + count >= t->count;
        prefetch_a(src, t->rows.src + (is_last ? 0 : i + count), count,
                   block->k0 + (is_last ? block->length : 0), block->length);
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        load_row_parameters(n, i, p, args, &t->rows, block, &parameters);                                    \
        multiply_rows(n, i, src, p, t, &parameters, block, b);                                               \
        break;
        switch (count) { CASE(1) CASE(2) CASE(4) MORE_COUNTS(CASE) }
        i += count;
    }
}

// The products of a block.
static inline void multiply_block(const struct k_block *block, bytes src,
                                  global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct wei_source *source, __private panel_vec *panel,
                                  __private struct tile *t) {
    struct wei_source own = *source;
    if (HAS(FLAG_ABREAST)) {
        own.n0 = t->n0;
        own.columns = t->columns;
    }
    const struct b_panel b = load_b(&own, p, block->k0, block->length, t->wei_zp, panel);
    if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
        add_wei_sums(b, block->length, t->wei_sum);
    multiply_tile(src, p, args, t, block, b);
}
#endif

// Turns the zero points of the columns into what terms are made from where terms are f32.
static inline void keep_float_zero_points(__private struct tile *t, const struct k_block *block) {
    if (!HAS_ROW_CORRECTIONS || HAS(FLAG_FLOAT_ZP) || (!HAS(FLAG_WEI_ZP_K) && !block->opens))
        return;
    int mean = 0;
    if (spec_zp_term() == ZP_TERM_LAST) {
#pragma unroll 1
        for (int n = 0; n < t->columns; ++n)
            mean += ((__private const int *)t->wei_zp)[n];
        t->rows.mean_zp = mean /= t->columns;
    }
    for (int v = 0; v < NV; ++v)
        t->wei_zp[v] = KEPT_ZERO_POINT(t->wei_zp[v] - (column_i)mean);
}

// Subtracts what ZP_TERM_LAST leaves to the end.
static inline void subtract_last_terms(__private struct tile *t) {
    if (spec_zp_term() != ZP_TERM_LAST)
        return;
#pragma unroll 1
    for (int i = 0; i < t->count; ++i) {
        const float sum = ((__private const float *)t->rows.scaled_corrections)[i];
        for (int v = 0; v < NV; ++v)
            t->result[i * NV + v] -= float_zero_points(t->wei_zp[v]) * (column_f)sum;
    }
}

// Never called: SHARES_TILES is false.
static inline void finish_slices(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                 global uchar *dst, __private const struct tile *t, const struct place *at,
                                 long first_row, __private const column_f *values) {}

#ifdef PREFETCHES_DST
#define PREFETCH_DST(p, dst, first, first_row, t) prefetch_dst(p, dst, first, first_row, t)

// Prefetches the tile of dst before its products. Its rows are stored one after the other at the end, and a
// store of a line that is in memory would make the following ones wait. Few rows wait for their weights.
CALLED void prefetch_dst(global const struct matmul_problem *p, global const uchar *dst,
                         const struct row_index *first, long first_row, __private const struct tile *t) {
    const int few_rows = 8;
    if (t->count <= few_rows || p->dst.column != 1 || IS_PARTIAL(p))
        return;
    const int bits = type_bits(p->dst.data_type);
#pragma unroll 1
    for (int i = 0; i < t->count; ++i) {
        const struct row_index r = ROW_OF_TILE(p, first, first_row + i, i);
        global const uchar *row = dst + (row_offset(p, &p->dst, &r) + t->n0) * bits / 8;
#pragma unroll 1
        for (int b = 0; b < t->columns * bits / 8; b += 64)
            prefetch_line_to_write(row + b);
    }
}
#endif

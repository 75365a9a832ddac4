// SPDX-License-Identifier: Apache-2.0
// The loop of the owner work_item for policies that multiply several segments in a row (KEEPS_SEGMENTS). The
// scales and zero points of up to MOST_SEGMENTS segments are kept. Then a group of rows is multiplied with
// all of them, and its results stay in registers: they are loaded and stored once for all segments.
#pragma once

#include "tile.h"

// One vector of results plus a scaled sum. n: the kept segment; i: the row in the tile; v: the vector of
// columns.
static inline vec_f add_segment(vec_f result, vec_i sum, __private const struct tile *t, int n, int i,
                                int v) {
    __private const struct kept_segment *s = t->kept.segments + n;
    const vec_f wei_scale = HAS(FLAG_WEI_SCALE_K) ? s->wei_scale[v] : (vec_f)1.f;
    vec_f scaled = to_vec_f(sum);
    if (spec_zp_term() == ZP_TERM_F32) {
        const vec_f zp = float_zero_points(HAS(FLAG_WEI_ZP_K) ? s->wei_zp[v] : t->wei_zp[v]);
        const float correction = as_float(t->kept.correction[i][n]);
        scaled = HAS(FLAG_FLOAT_ZP) ? fma(-zp, (vec_f)correction, scaled) : scaled - zp * (vec_f)correction;
    }
    if (!HAS(FLAG_SRC_SCALE_K))
        return fma(scaled, wei_scale, result);
    if (HAS(FLAG_WEI_SCALE_K))
        scaled *= wei_scale;
    return fma(scaled, (vec_f)t->kept.scale[i][n], result);
}

// What the sum of a segment begins with: its zero-point term, if that is s32.
static inline vec_i first_sum(__private const struct tile *t, int n, int i, int v) {
    if (!HAS(FLAG_REDUCTIONS) || spec_zp_term() == ZP_TERM_F32)
        return (vec_i)0;
    const column_i zp = HAS(FLAG_WEI_ZP_K) ? t->kept.segments[n].wei_zp[v] : t->wei_zp[v];
    return -zero_point_term(zp, (vec_i)t->kept.correction[i][n]);
}

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
                sums[i * COLUMNS_AT_ONCE + v] = first_sum(t, n, i0 + i, v0 + v);
        multiply_segment(count, v0, a, n * quads, quads, b, sums);
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int v = 0; v < COLUMNS_AT_ONCE; ++v)
                results[i * COLUMNS_AT_ONCE + v] = add_segment(
                    results[i * COLUMNS_AT_ONCE + v], sums[i * COLUMNS_AT_ONCE + v], t, n, i0 + i, v0 + v);
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

// Whether vectors of MOST_SEGMENTS scales of a row can be loaded.
static inline bool has_scale_vectors(global const struct matmul_problem *p) {
    const int type = SRC_SCALE_DT(p);
    return HAS_EQUAL_GROUPS(p, p->src_scale.column_group) && p->src_scale.column == 1 &&
           (type == DT_F16 || type == DT_BF16 || type == DT_F32);
}

static inline float8 load_scale_vector(bytes p, int data_type, long i) {
    switch (data_type) {
    case DT_F16:
        return vload_half8(0, (global const half *)p + i);
    case DT_BF16:
        return as_float8(convert_int8(vload8(0, (global const ushort *)p + i)) << 16);
    }
    return vload8(0, (global const float *)p + i);
}

// Keeps what the rows need of `count` segments, from the block's on.
static inline void keep_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                             const struct k_block *block, int count, __private struct tile *t) {
    const bool is_full = count == MOST_SEGMENTS;
    const bool scales = is_full && has_scale_vectors(p), sums = is_full && block->steps.reductions == 1;
    const int type = SRC_SCALE_DT(p);
#pragma unroll 1
    for (int i = 0; i < t->count; ++i) {
        __private float *scale = t->kept.scale[i];
        __private int *correction = t->kept.correction[i];
        if (HAS(FLAG_SRC_SCALE_K) && scales)
            vstore8(load_scale_vector((bytes)args->src_scale, type, t->rows.src_scale[i] + block->src_scale),
                    0, scale);
        if (HAS(FLAG_REDUCTIONS) && sums)
            vstore8(vload8(0, (global const int *)args->reductions + t->rows.reductions[i] + block->segment),
                    0, correction);
        struct k_block b = *block;
#pragma unroll 1
        for (int n = 0; n < (scales && sums ? 0 : count); ++n) {
            if (HAS(FLAG_SRC_SCALE_K) && !scales)
                scale[n] = load_scale(args->src_scale, type, args->host_src_scale,
                                      t->rows.src_scale[i] +
                                          along_k(p, &b, p->src_scale.column_group) * b.steps.src_scale);
            if (HAS(FLAG_REDUCTIONS) && !sums)
                correction[n] = load_correction(p, args, &b, t->rows.reductions[i], 0);
            b.k0 += b.length;
            ++b.segment;
        }
        if (spec_zp_term() == ZP_TERM_LAST) {
            __private float *scaled = (__private float *)t->rows.scaled_corrections + i;
#pragma unroll 1
            for (int n = 0; n < count; ++n)
                *scaled = fma((float)correction[n], scale[n], *scaled);
            vstore8(vload8(0, correction) * -t->rows.mean_zp, 0, correction);
        } else if (spec_zp_term() == ZP_TERM_F32) {
            vstore8(convert_float8(vload8(0, correction)), 0, (__private float *)correction);
        }
    }
}

// Keeps what the columns need of a segment.
static inline void keep_columns(__private struct tile *t) {
    __private struct kept_segment *s = t->kept.segments + t->kept.count;
    for (int v = 0; v < NV; ++v) {
        if (HAS(FLAG_WEI_ZP_K))
            s->wei_zp[v] = t->wei_zp[v];
        if (HAS(FLAG_WEI_SCALE_K))
            s->wei_scale[v] = t->wei_scale[v];
    }
}

// The block is a segment. It is multiplied with those before it as soon as no other one fits.
static inline void multiply_block(const struct k_block *block, bytes src,
                                  global const struct matmul_problem *p, const struct matmul_arguments *args,
                                  const struct wei_source *source, __private panel_vec *panel,
                                  __private struct tile *t) {
    if (block->opens)
        t->kept.count = 0;
    const int before = t->kept.count * block->length, length = before + block->length;
    struct b_panel b = load_b(source, p, block->k0, block->length, t->wei_zp, panel + before / 4 * NV);
    if (t->kept.count == 0) {
        const int most = min(MOST_SEGMENTS, TILE_K / block->length);
        const int left = (int)min((long)most, (t->kept.end - block->k0 + block->length - 1) / block->length);
        keep_rows(p, args, block, left, t);
    }
    keep_columns(t);
    ++t->kept.count;
    const bool closes = block->k0 + block->length == t->kept.end;
    if (!closes && t->kept.count < MOST_SEGMENTS && length + block->length <= TILE_K)
        return;
    b.first -= before * PACKED_N;
    b.panel = panel;
    multiply_tile(src, t, block->k0 - before, block->length / 4, b);
    t->kept.count = 0;
}

// SPDX-License-Identifier: Apache-2.0
// For policies that keep several segments (owner/work_item/kept.h): their rows.
#pragma once

#include "arithmetic/transpose.h"
#include "owner/tile.h"
#include "owner/work_item/scaled_sum.h"

static inline column_i kept_zero_point(__private const struct tile *t, int n, int v) {
    return HAS(FLAG_WEI_ZP_K) ? t->kept.segments[n].wei_zp[v] : t->wei_zp[v];
}
static inline column_f kept_scale(__private const struct tile *t, int n, int v) {
    return HAS(FLAG_WEI_SCALE_K)   ? t->kept.segments[n].wei_scale[v]
           : HAS(FLAG_SRC_SCALE_K) ? (column_f)1.f
                                   : t->wei_scale[v];
}

// The first value of a sum.
static inline vec_i begin_sum(column_i zp, int correction) {
    return TERMS_ARE_WORDS ? NEGATED_TERM(zp, correction) : -subtrahend(zp, correction);
}

#define SEGMENTS_AT_ONCE 8 // whose values of a row are a vector

// Whether vectors of SEGMENTS_AT_ONCE scales of a row can be loaded.
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

// Loads what sixteen rows, from row i0 of the tile on, have for SEGMENTS_AT_ONCE segments: x[n] is for
// segment n. load(i): what row i has for all of them. Rows past the end repeat the last one.
#define LOAD_SIXTEEN_ROWS(x, i0, count, load)                                                                \
    do {                                                                                                     \
        _Pragma("unroll") for (int j = 0; j < SEGMENTS_AT_ONCE; ++j) {                                       \
            const int row = (i0) + first_of_pair(j);                                                         \
            (x)[j] = (int16)(load(min(row, (count)-1)), load(min(row + 4, (count)-1)));                      \
        }                                                                                                    \
        transpose_pairs(x);                                                                                  \
    } while (0)

// Keeps what the rows need of `count` segments, from number `first` on, which lie side by side in a row's
// scales and sums. What is loaded ends with the last of them and begins `before` segments before the block's.
static inline void keep_row_vectors(const struct matmul_arguments *args, const struct k_block *block,
                                    int scale_type, int first, int before, bool scales, bool sums,
                                    __private struct tile *t) {
#define SCALES(i)                                                                                            \
    as_int8(load_scale_vector((bytes)args->src_scale, scale_type,                                            \
                              t->rows.src_scale[i] + block->src_scale - before))
#define SUMS(i)                                                                                              \
    vload8(0, (global const int *)args->reductions + t->rows.reductions[i] + block->segment - before)
#pragma unroll 1
    for (int v = 0; v * LANES < t->count; ++v) {
        int16 x[SEGMENTS_AT_ONCE];
        if (HAS(FLAG_SRC_SCALE_K) && scales) {
            LOAD_SIXTEEN_ROWS(x, v * LANES, t->count, SCALES);
#pragma unroll
            for (int n = 0; n < SEGMENTS_AT_ONCE; ++n)
                if (n >= before)
                    KEPT_VECTOR(t->kept.scale, first + n - before, v) = as_column_f(x[n]);
        }
        if (HAS(FLAG_REDUCTIONS) && sums) {
            LOAD_SIXTEEN_ROWS(x, v * LANES, t->count, SUMS);
#pragma unroll
            for (int n = 0; n < SEGMENTS_AT_ONCE; ++n)
                if (n >= before)
                    KEPT_VECTOR(t->kept.correction, first + n - before, v) = x[n];
        }
    }
#undef SCALES
#undef SUMS
}

// Keeps what the rows need of `count` segments, from number `first` on, which is the block.
static inline void keep_rows(global const struct matmul_problem *p, const struct matmul_arguments *args,
                             const struct k_block *block, int first, int count, __private struct tile *t) {
    const int before = SEGMENTS_AT_ONCE - count, end = first + count;
    const bool fits = block->segment >= before;
    const bool scales = fits && (!HAS(FLAG_SRC_SCALE_K) || has_scale_vectors(p)),
               sums = fits && block->steps.reductions == 1 && !HAS(FLAG_SRC_ZP);
    const int type = SRC_SCALE_DT(p);
    keep_row_vectors(args, block, type, first, before, scales, sums, t);
    struct k_block b = *block;
    const bool all = scales && (sums || !(HAS(FLAG_REDUCTIONS) || HAS(FLAG_SRC_ZP)));
#pragma unroll 1
    for (int n = all ? end : first; n < end; ++n) {
        const long scale_at = along_k(p, &b, p->src_scale.column_group) * b.steps.src_scale;
        const long zp_at = along_k(p, &b, p->src_zp.column_group) * b.steps.src_zp;
#pragma unroll 1
        for (int i = 0; i < t->count; ++i) {
            if (HAS(FLAG_SRC_ZP))
                SRC_ZP_OF_ROW(&t->kept, n, i) =
                    load_zero_point(args->src_zp, SRC_ZP_DT(p), args->host_src_zp, t->rows.src_zp[i] + zp_at);
            if (HAS(FLAG_SRC_SCALE_K) && !scales)
                SCALE_OF_ROW(&t->kept, n, i) =
                    load_scale(args->src_scale, type, args->host_src_scale, t->rows.src_scale[i] + scale_at);
            if (HAS(FLAG_REDUCTIONS) && !sums)
                CORRECTION_OF_ROW(&t->kept, n, i) = load_correction(
                    p, args, &b, t->rows.reductions[i], HAS(FLAG_SRC_ZP) ? SRC_ZP_OF_ROW(&t->kept, n, i) : 0);
        }
        b.k0 += b.length;
        ++b.segment;
    }
    if (!HAS_ROW_CORRECTIONS)
        return;
#pragma unroll 1
    for (int v = 0; v * LANES < t->count; ++v)
#pragma unroll 1
        for (int n = first; n < end; ++n) {
            const column_i sum = KEPT_VECTOR(t->kept.correction, n, v);
            if (spec_zp_term() == ZP_TERM_LAST)
                t->rows.scaled_corrections[v] =
                    fma(to_column_f(sum), KEPT_VECTOR(t->kept.scale, n, v), t->rows.scaled_corrections[v]);
            KEPT_VECTOR(t->kept.correction, n, v) =
                spec_zp_term() == ZP_TERM_LAST ? sum * -t->rows.mean_zp : KEPT_CORRECTION(sum);
        }
}

// Plans how many segments are kept, from the block on, which is one: at most `most`, and none behind the
// range of K. Keeps what the rows need of them.
static inline void plan_segments(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                 const struct k_block *block, int most, __private struct tile *t) {
    const long left = (t->kept.end - block->k0 + block->length - 1) / block->length;
    t->kept.count = 0;
    t->kept.planned = (int)min((long)min(most, MOST_SEGMENTS), left);
    struct k_block b = *block;
#pragma unroll 1
    for (int n = 0; n < t->kept.planned; n += SEGMENTS_AT_ONCE) {
        keep_rows(p, args, &b, n, min(t->kept.planned - n, SEGMENTS_AT_ONCE), t);
        b.k0 += SEGMENTS_AT_ONCE * b.length;
        b.segment += SEGMENTS_AT_ONCE;
        b.src_scale += SEGMENTS_AT_ONCE; // where it counts, they lie side by side
    }
}

// Keeps what the columns need of the next segment. Returns whether all that were planned are kept.
static inline bool keep_columns(__private struct tile *t) {
    __private struct kept_segment *s = t->kept.segments + t->kept.count;
    for (int v = 0; v < NV; ++v) {
        if (HAS(FLAG_WEI_ZP_K))
            s->wei_zp[v] = t->wei_zp[v];
        if (HAS(FLAG_WEI_SCALE_K))
            s->wei_scale[v] = t->wei_scale[v];
        if (HAS(FLAG_SRC_ZP))
            s->wei_sum[v] = t->wei_sum[v];
    }
    return ++t->kept.count == t->kept.planned;
}

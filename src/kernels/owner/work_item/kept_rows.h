// SPDX-License-Identifier: Apache-2.0
// What policies that keep several segments need of them (owner/work_item/kept.h), and how the sum of a
// segment is scaled.
#pragma once

#include "tile.h"

static inline column_i kept_zero_point(__private const struct tile *t, int n, int v) {
    return HAS(FLAG_WEI_ZP_K) ? t->kept.segments[n].wei_zp[v] : t->wei_zp[v];
}
static inline column_f kept_scale(__private const struct tile *t, int n, int v) {
    return HAS(FLAG_WEI_SCALE_K)   ? t->kept.segments[n].wei_scale[v]
           : HAS(FLAG_SRC_SCALE_K) ? (column_f)1.f
                                   : t->wei_scale[v];
}

// The zero-point term of the weights, if that is s32: it is subtracted from the sum.
static inline vec_i subtrahend(column_i zp, int correction) {
    if (!HAS(FLAG_REDUCTIONS) || spec_zp_term() == ZP_TERM_F32)
        return (vec_i)0;
    return zero_point_term(zp, (vec_i)correction);
}

// A vector of results plus a scaled sum. correction: with ZP_TERM_F32 the bits of f32.
static inline vec_f add_scaled(vec_f result, vec_f sum, column_i wei_zp, column_f wei_scale, int correction,
                               float src_scale) {
    if (ADDS_OFFSETS)
        sum *= wei_scale;
    if (spec_zp_term() == ZP_TERM_F32) {
        const vec_f zp = float_zero_points(wei_zp), c = (vec_f)as_float(correction);
        // A float zero point's term is not exact: it must not be rounded on its own.
        sum = HAS(FLAG_FLOAT_ZP) ? fma(-zp, c, sum) : sum - zp * c;
    }
    if (!HAS(FLAG_SRC_SCALE_K))
        return ADDS_OFFSETS ? result + sum : fma(sum, wei_scale, result);
    if (HAS(FLAG_WEI_SCALE_K) && !ADDS_OFFSETS)
        sum *= wei_scale;
    return fma(sum, (vec_f)src_scale, result);
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
    const bool scales = is_full && has_scale_vectors(p),
               sums = is_full && block->steps.reductions == 1 && !HAS(FLAG_SRC_ZP);
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
            if (HAS(FLAG_SRC_ZP))
                t->kept.src_zp[i][n] = load_zero_point(
                    args->src_zp, SRC_ZP_DT(p), args->host_src_zp,
                    t->rows.src_zp[i] + along_k(p, &b, p->src_zp.column_group) * b.steps.src_zp);
            if (HAS(FLAG_SRC_SCALE_K) && !scales)
                scale[n] = load_scale(args->src_scale, type, args->host_src_scale,
                                      t->rows.src_scale[i] +
                                          along_k(p, &b, p->src_scale.column_group) * b.steps.src_scale);
            if (HAS(FLAG_REDUCTIONS) && !sums)
                correction[n] = load_correction(p, args, &b, t->rows.reductions[i],
                                                HAS(FLAG_SRC_ZP) ? t->kept.src_zp[i][n] : 0);
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

// Plans how many segments are kept, from the block on, which is one: at most `most`, and none behind the
// range of K. Keeps what the rows need of them.
static inline void plan_segments(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                 const struct k_block *block, int most, __private struct tile *t) {
    const long left = (t->kept.end - block->k0 + block->length - 1) / block->length;
    t->kept.count = 0;
    t->kept.planned = (int)min((long)min(most, MOST_SEGMENTS), left);
    keep_rows(p, args, block, t->kept.planned, t);
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

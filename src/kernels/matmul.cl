// SPDX-License-Identifier: Apache-2.0
// dst = post_ops(sum over segments of scales * (src - src_zp) * (wei - wei_zp) + bias), tile by tile.
//
// One work-item owns up to TILE_M rows and TILE_N columns of dst. K runs in segments, inside which scales and
// zero points are constant, and these in blocks of at most TILE_K. The weights of a block become a panel that
// stays in the first cache level while groups of up to ROWS rows are multiplied with it, sums in registers.
// Zero points leave the loop over K (RFC "User's Precomputed Reductions for GeMM"):
//   sum (s - zs)(w - zw) = sum s w  -  zw * R  -  zs * sum w  +  length * zs * zw,   R = sum s
// R comes from the caller or from reduce_src.cl. Integer arithmetic is exact modulo 2^32.
//
// A policy is the ISA below this nest; int8.h and fma.h have one each. It defines
//   ANY_ROW_COUNT      1: one variant of the inner loop for each number of rows up to ROWS; 0: ROWS always
//   panel_vec, PANEL_VECTORS   private memory for the weights of a block
//   struct b_panel, load_b     the weights of a block, there or where they lie
//   add_wei_sums       sums of the panel's columns
//   multiply           adds the products of a group of rows and the panel to isum (integers) or fsum
#include "epilogue.h"
#include "lanes.h"
#include "parameters.h"
#include "spec.h"
#include "tensor.h"

#include POLICY

#define SEGMENTS_ARE_SCALED (HAS(FLAG_SRC_SCALE_K) || HAS(FLAG_WEI_SCALE_K))

struct tile {
    int rows, columns; // inside the matrix
    long n0;
    // Where each row begins, in elements; rows past the end repeat the last one.
    long src[TILE_M], src_scale[TILE_M], src_zp[TILE_M], reductions[TILE_M];
    // Of the tile's columns, in the current segment.
    vec_i wei_zp[NV], wei_sum[NV];
    vec_f wei_scale[NV];
    vec_i sum[TILE_M * NV];    // not yet scaled; bits of an f32 unless FLAG_INTEGER
    vec_f result[TILE_M * NV]; // sum of scaled segments
};

// A block of K and its place in its segment.
struct block {
    long k0, segment; // first element, number of the segment
    int length;
    bool first, last;       // of the segment
    bool opens;             // the range of K
    long src_scale, src_zp; // what to add to a row's offsets
};

// What a group of rows needs of the current segment, row by row.
struct row_parameters {
    int correction[ROWS]; // multiplies the zero points of the weights: R - length * zs
    int src_zp[ROWS];
    float src_scale[ROWS];
};

static inline __attribute__((always_inline)) void
load_row_parameters(const int count, int i0, global const struct matmul_problem *p,
                    const struct matmul_arguments *args, __private const struct tile *t,
                    const struct block *block, __private struct row_parameters *rows) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        if (HAS(FLAG_SRC_ZP))
            rows->src_zp[i] = load_zero_point(args->src_zp, spec_src_zp_dt(), args->host_src_zp,
                                              t->src_zp[i0 + i] + block->src_zp);
        if (HAS(FLAG_REDUCTIONS)) {
            rows->correction[i] = load_int((bytes)args->reductions, DT_S32,
                                           t->reductions[i0 + i] + block->segment * p->reductions.column);
            if (HAS(FLAG_SRC_ZP))
                rows->correction[i] -= (int)p->segment * rows->src_zp[i];
        }
        if (HAS(FLAG_SRC_SCALE_K))
            rows->src_scale[i] = load_scale(args->src_scale, spec_src_scale_dt(), args->host_src_scale,
                                            t->src_scale[i0 + i] + block->src_scale);
    }
}

// The sums of a group of `count` rows from row i0 of the tile on, over one block.
static inline __attribute__((always_inline)) void multiply_rows(const int count, int i0, bytes src,
                                                                global const struct matmul_problem *p,
                                                                __private struct tile *t,
                                                                __private const struct row_parameters *rows,
                                                                const struct block *block, struct b_panel b) {
    vec_i isum[ROWS * NV];
    vec_f fsum[ROWS * NV];
    __private vec_i *carried = t->sum + i0 * NV;
    __private vec_f *result = t->result + i0 * NV;
    const bool begins = SEGMENTS_ARE_SCALED ? block->first : block->opens;
    const bool ends = SEGMENTS_ARE_SCALED && block->last;
#pragma unroll
    for (int i = 0; i < count * NV; ++i) {
        const vec_i sum = begins ? (vec_i)0 : carried[i];
        if (HAS(FLAG_INTEGER))
            isum[i] = sum;
        else
            fsum[i] = as_vec_f(sum);
        if (HAS(FLAG_REDUCTIONS) && block->first)
            isum[i] -= t->wei_zp[i % NV] * (vec_i)rows->correction[i / NV];
    }

    multiply(count, src, &p->src, t->src + i0, block->k0, block->length, b, isum, fsum);

#pragma unroll
    for (int i = 0; i < count * NV; ++i) {
        if (HAS(FLAG_SRC_ZP) && block->last)
            isum[i] -= t->wei_sum[i % NV] * (vec_i)rows->src_zp[i / NV];
        if (ends) {
            vec_f scaled = HAS(FLAG_INTEGER) ? to_vec_f(isum[i]) : fsum[i];
            if (HAS(FLAG_WEI_SCALE_K))
                scaled *= t->wei_scale[i % NV];
            if (HAS(FLAG_SRC_SCALE_K))
                result[i] = fma(scaled, (vec_f)rows->src_scale[i / NV], result[i]);
            else
                result[i] += scaled;
        } else {
            carried[i] = HAS(FLAG_INTEGER) ? isum[i] : as_vec_i(fsum[i]);
        }
    }
}

// All groups of rows of the tile, as even as they can be.
static inline void multiply_tile(bytes src, global const struct matmul_problem *p,
                                 const struct matmul_arguments *args, __private struct tile *t,
                                 const struct block *block, struct b_panel b) {
    struct row_parameters rows;
    if (HAS(FLAG_ALONG_K)) {
#pragma unroll 1
        for (int i = 0; i < t->rows; ++i) {
            load_row_parameters(1, i, p, args, t, block, &rows);
            prefetch_b(b, block->length, i, t->rows);
            multiply_rows(1, i, src, p, t, &rows, block, b);
        }
        return;
    }
#if ANY_ROW_COUNT
    const int groups = (t->rows + ROWS - 1) / ROWS;
    int group = 0;
#if ROWS > 6
    // Of variants for 1 to ROWS rows there would be too many to compile: the last group repeats its last row.
    for (int i = 0; i < t->rows;) {
        const int left = t->rows - i;
        const int count = left > 8 ? ROWS : left > 4 ? 8 : left == 3 ? 4 : left;
#else
    const int each = t->rows / groups;
    int larger = t->rows - each * groups; // groups with one row more
    for (int i = 0; i < t->rows;) {
        const int count = each + (larger-- > 0 ? 1 : 0);
#endif
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        load_row_parameters(n, i, p, args, t, block, &rows);                                                 \
        multiply_rows(n, i, src, p, t, &rows, block, b);                                                     \
        break;
        prefetch_b(b, block->length, group++, groups);
        if (i + count < t->rows)
            prefetch_a(src, t->src + i + count, count, block->k0, block->length);
        else
            prefetch_a(src, t->src, count, block->k0 + block->length, block->length);
        switch (count) {
            CASE(1)
            CASE(2)
            CASE(4)
#if ROWS > 6
            CASE(8)
            CASE(ROWS)
#else
            CASE(3)
#endif
#if ROWS == 6
            CASE(5)
            CASE(6)
#endif
        }
        i += count;
    }
#else
    for (int i = 0; i < t->rows; i += ROWS) {
        load_row_parameters(ROWS, i, p, args, t, block, &rows);
        multiply_rows(ROWS, i, src, p, t, &rows, block, b);
    }
#endif
}

// Zero points and scales of the columns, in the segment that begins at k0; opens: nothing is loaded yet.
static inline void load_column_parameters(global const struct matmul_problem *p,
                                          const struct matmul_arguments *args, const struct row_index *r,
                                          long k0, bool opens, __private struct tile *t) {
    if (HAS(FLAG_WEI_ZP) && (HAS(FLAG_WEI_ZP_K) || opens))
        load_column_zero_points(t->wei_zp, args->wei_zp, &p->wei_zp, spec_wei_zp_dt(), args->host_wei_zp,
                                batch_offset(p, &p->wei_zp, r) + k0 / p->wei_zp.row_group * p->wei_zp.row,
                                t->n0, t->columns);
    // The policy's weights are w - WEI_SHIFT, and so are their zero points.
    if (WEI_SHIFT != 0 && (HAS(FLAG_WEI_ZP_K) || opens))
        for (int v = 0; v < NV; ++v)
            t->wei_zp[v] = (HAS(FLAG_WEI_ZP) ? t->wei_zp[v] : (vec_i)0) - (vec_i)WEI_SHIFT;
    if (HAS(FLAG_WEI_SCALE) && (HAS(FLAG_WEI_SCALE_K) || opens))
        load_column_scales(t->wei_scale, args->wei_scale, &p->wei_scale, spec_wei_scale_dt(),
                           args->host_wei_scale,
                           batch_offset(p, &p->wei_scale, r) + k0 / p->wei_scale.row_group * p->wei_scale.row,
                           t->n0, t->columns);
}

// The sums of a range of K, from first_row of dst on.
static inline global int *partial_sums(global const struct matmul_problem *p,
                                       const struct matmul_arguments *args, long first_row, long n0) {
    return (global int *)args->partials + first_row * p->partial_row + n0;
}

static inline void store_partials(global const struct matmul_problem *p, __private const struct tile *t,
                                  global int *to) {
    for (int i = 0; i < t->rows; ++i)
        for (int v = 0; v < NV; ++v) {
            const int j = i * NV + v;
            store_vec_s32(SEGMENTS_ARE_SCALED ? as_vec_i(t->result[j]) : t->sum[j],
                          to + i * p->partial_row + v * LANES);
        }
}

// Adds up the ranges in their order, so that floats always round alike.
static inline void load_partials(global const struct matmul_problem *p, __private struct tile *t,
                                 global const int *from) {
    for (int i = 0; i < t->rows; ++i)
        for (int v = 0; v < NV; ++v) {
            global const int *at = from + i * p->partial_row + v * LANES;
            vec_i sum = load_vec_s32(at);
            for (long k = p->k_range; k < p->k; k += p->k_range) {
                at += p->partial_range;
                const vec_i next = load_vec_s32(at);
                sum = HAS(FLAG_INTEGER) && !SEGMENTS_ARE_SCALED ? sum + next
                                                                : as_vec_i(as_vec_f(sum) + as_vec_f(next));
            }
            if (SEGMENTS_ARE_SCALED)
                t->result[i * NV + v] = as_vec_f(sum);
            else
                t->sum[i * NV + v] = sum;
        }
}

// The tile's sums over K from k_begin to k_end.
static inline void sum_range(bytes src, bytes wei, global const struct matmul_problem *p,
                             const struct matmul_arguments *args, const struct row_index *first, long k_begin,
                             long k_end, __private struct tile *t) {
    panel_vec panel[PANEL_VECTORS];
    const long wei_begin = batch_offset(p, &p->wei, first);
    for (struct block block = {.k0 = k_begin}; block.k0 < k_end; block.k0 += block.length) {
        block.segment = block.k0 / p->segment;
        const long segment_end = min((block.segment + 1) * p->segment, k_end);
        block.length = (int)min((long)TILE_K, segment_end - block.k0);
        block.first = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 == block.segment * p->segment;
        block.last = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 + block.length == segment_end;
        block.src_scale = column_offset(&p->src_scale, block.k0);
        block.src_zp = column_offset(&p->src_zp, block.k0);
        block.opens = block.k0 == k_begin;
        if (block.first || block.opens) {
            load_column_parameters(p, args, first, block.k0, block.opens, t);
            for (int v = 0; v < NV; ++v)
                t->wei_sum[v] = (vec_i)0;
        }
        const struct b_panel b =
            load_b(wei, p, wei_begin, t->n0, block.k0, block.length, t->columns, t->wei_zp, panel);
        if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
            add_wei_sums(b, block.length, t->wei_sum);
        multiply_tile(src, p, args, t, &block, b);
    }
}

// The values of dst in row i of the tile, which is row r.
static inline void finish_tile_row(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   global const uchar *dst, const struct row_index *r,
                                   __private const struct tile *t, int i, __private vec_f *x) {
    float src_scale = 1.f;
    if (HAS(FLAG_SRC_SCALE) && !HAS(FLAG_SRC_SCALE_K))
        src_scale = load_scale(args->src_scale, spec_src_scale_dt(), args->host_src_scale, t->src_scale[i]);
    for (int v = 0; v < NV; ++v) {
        const int j = i * NV + v;
        if (HAS(FLAG_EXACT_S32)) {
            x[v] = as_vec_f(t->sum[j]);
            continue;
        }
        x[v] = SEGMENTS_ARE_SCALED ? t->result[j]
               : HAS(FLAG_INTEGER) ? to_vec_f(t->sum[j])
                                   : as_vec_f(t->sum[j]);
        if (HAS(FLAG_SRC_SCALE) && !HAS(FLAG_SRC_SCALE_K))
            x[v] *= (vec_f)src_scale;
        if (HAS(FLAG_WEI_SCALE) && !HAS(FLAG_WEI_SCALE_K))
            x[v] *= t->wei_scale[v];
    }
    if (!HAS(FLAG_EXACT_S32))
        finish_row(p, args, dst, r, t->n0, t->columns, x);
}

__attribute__((reqd_work_group_size(GROUP_X, 1, 1))) kernel void matmul(bytes src, bytes wei,
                                                                        global uchar *dst,
                                                                        global const struct matmul_problem *p,
                                                                        struct matmul_arguments args) {
    // Neighbouring groups share rows of src: they stay in the second cache level while the weights pass.
    const long groups_along_n = (p->n + TILE_N * GROUP_X - 1) / (TILE_N * GROUP_X);
    const long group = get_group_id(0);
    const long n0 = (group % groups_along_n * GROUP_X + get_local_id(0)) * TILE_N;
    const int tile_rows = HAS(FLAG_FINISH) ? p->finish_rows : p->tile_rows;
    const long row0 = group / groups_along_n * tile_rows;
    const long first_row = get_group_id(1) * p->rows + row0; // in the whole of dst
    if (n0 >= p->n)
        return;

    struct tile t;
    t.n0 = n0;
    t.columns = (int)min((long)TILE_N, p->n - n0);
    t.rows = (int)min((long)tile_rows, p->rows - row0);
    // The weights and their parameters depend on the batch, never on the row within a tile.
    const struct row_index first = row_at(p, first_row);
    const int padded_rows = (t.rows + ROWS - 1) / ROWS * ROWS;
    for (int i = 0; i < padded_rows; ++i) {
        const struct row_index r = row_at(p, first_row + min(i, t.rows - 1));
        t.src[i] = row_offset(p, &p->src, &r);
        if (HAS(FLAG_SRC_SCALE))
            t.src_scale[i] = row_offset(p, &p->src_scale, &r);
        if (HAS(FLAG_SRC_ZP))
            t.src_zp[i] = row_offset(p, &p->src_zp, &r);
        if (HAS(FLAG_REDUCTIONS))
            t.reductions[i] = row_offset(p, &p->reductions, &r);
        if (SEGMENTS_ARE_SCALED)
            for (int v = 0; v < NV; ++v)
                t.result[i * NV + v] = (vec_f)0.f;
    }

    if (HAS(FLAG_FINISH)) {
        load_partials(p, &t, partial_sums(p, &args, first_row, n0));
        load_column_parameters(p, &args, &first, 0, true, &t);
    } else {
        const long k_begin = get_group_id(2) * p->k_range;
        sum_range(src, wei, p, &args, &first, k_begin, min(k_begin + p->k_range, p->k), &t);
    }
    if (HAS(FLAG_PARTIAL)) {
        store_partials(p, &t, partial_sums(p, &args, first_row, n0) + get_group_id(2) * p->partial_range);
        return;
    }
    for (int i = 0; i < t.rows; ++i) {
        const struct row_index r = row_at(p, first_row + i);
        vec_f x[NV];
        finish_tile_row(p, &args, dst, &r, &t, i, x);
        store_row(p, dst, &r, n0, t.columns, x);
    }
}

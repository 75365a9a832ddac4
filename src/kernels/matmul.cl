// SPDX-License-Identifier: Apache-2.0
// dst = post_ops(sum over segments of scales * (src - src_zp) * (wei - wei_zp) + bias), tile by tile.
//
// A work-item, or a sub-group (lanes.h), owns up to TILE_M rows and TILE_N columns of dst. K runs in
// segments, inside which scales and zero points are constant, and these in blocks of at most TILE_K. The
// weights of a block become a panel that stays in the first cache level, or in registers, while groups of up
// to ROWS rows are multiplied with it, sums in registers. Zero points leave the loop over K (RFC "User's
// Precomputed Reductions for GeMM"):
//   sum (s - zs)(w - zw) = sum s w  -  zw * R  -  zs * sum w  +  length * zs * zw,   R = sum s
// R comes from the caller or from reduce_src.cl. Integer arithmetic is exact modulo 2^32.
//
// A policy is the ISA below this nest; int8.h, fma.h and the xe_ headers have one each. It defines
//   SUM_FACTOR         if its sums have to be multiplied by something
//   ANY_ROW_COUNT      1: one variant of the inner loop for each number of rows up to ROWS; 0: ROWS always
//   panel_vec, PANEL_VECTORS   private memory for the weights of a block
//   struct wei_source, open_wei   the weights of a tile
//   struct b_panel, load_b        those of a block, there or where they lie
//   add_wei_sums       sums of the panel's columns
//   multiply           adds the products of a group of rows and the panel to isum (integers) or fsum
//   BY_COLUMNS         if it has instead LOAD_A, which loads these rows in SRC_STEPS vectors, and
//                      multiply_column for one column
#include "epilogue.h"
#include "lanes.h"
#include "parameters.h"
#include "place.h"
#include "rows.h"
#include "spec.h"
#include "tensor.h"

#include POLICY

#include "partials.h"
#include "slices.h"
#include "tile.h"

#ifndef BLOCK_K
#define BLOCK_K TILE_K
#endif

// Zero points of the weights times R. Factors of 16 bits make it one instruction.
static inline vec_i zero_point_term(column_i zp, vec_i correction) {
#if WORK_ITEMS > 1
    if (HAS(FLAG_SHORT_ZP))
        return (vec_i)(int)(short)zp * convert_int8(convert_short8(correction));
#endif
    return (vec_i)zp * correction;
}

// The sums of a group of `count` rows from row i0 of the tile on, over one block.
static inline __attribute__((always_inline)) void multiply_rows(const int count, int i0, bytes src,
                                                                global const struct matmul_problem *p,
                                                                __private struct tile *t,
                                                                __private const struct row_parameters *rows,
                                                                const struct block *block, struct b_panel b) {
    vec_i isum[VECTORS(ROWS)];
    vec_f fsum[VECTORS(ROWS)];
    __private vec_i *carried = t->sum + VECTORS(i0);
    __private vec_f *result = t->result + VECTORS(i0);
#if WORK_ITEMS == 1
    const bool begins = SEGMENTS_ARE_SCALED ? block->first : block->opens;
    const bool ends = SEGMENTS_ARE_SCALED && block->last;
#else
    // Sums are zero at first. Where a segment is more than one panel, registers are too few to carry its sum:
    // each panel is scaled on its own.
    const bool begins = SEGMENTS_ARE_SCALED, ends = SEGMENTS_ARE_SCALED;
#endif
#ifdef BY_COLUMNS
    // Column by column, so that few sums are not yet scaled.
    const int at_once = 1;
    a_rows a[SRC_STEPS];
    LOAD_A(src, p, &t->rows, i0, block->k0, a);
#else
    const int at_once = VECTORS(count);
#endif
#pragma unroll
    for (int v = 0; v < VECTORS(count); v += at_once) {
#pragma unroll
        for (int i = v; i < v + at_once; ++i) {
            const vec_i sum = begins ? (vec_i)0 : carried[i];
            if (HAS(FLAG_INTEGER))
                isum[i] = sum;
            else
                fsum[i] = as_vec_f(sum);
            // A panel that is scaled on its own and not the first has a correction of 0.
            if (HAS(FLAG_REDUCTIONS) && !HAS(FLAG_FLOAT_ZP) &&
                ((WORK_ITEMS > 1 && SEGMENTS_ARE_SCALED) || block->first))
                isum[i] -= zero_point_term(t->wei_zp[i % NV], (vec_i)rows->correction[i / NV]);
        }
#ifdef BY_COLUMNS
        multiply_column(a, b, v, isum, fsum);
#else
        multiply(count, src, p, &t->rows, i0, block->k0, block->length, b, isum, fsum);
#endif
#pragma unroll
        for (int i = v; i < v + at_once; ++i) {
            if (HAS(FLAG_SRC_ZP) && block->last)
                isum[i] -= (vec_i)t->wei_sum[i % NV] * (vec_i)rows->src_zp[i / NV];
            if (ends) {
                vec_f scaled = HAS(FLAG_INTEGER) ? to_vec_f(isum[i]) : fsum[i];
                if (HAS(FLAG_FLOAT_ZP) && block->first)
                    scaled -= (vec_f)to_column_f(t->wei_zp[i % NV]) * (vec_f)rows->float_correction[i / NV];
                if (HAS(FLAG_WEI_SCALE_K) && HAS(FLAG_SRC_SCALE_K))
                    scaled *= (vec_f)t->wei_scale[i % NV];
                if (HAS(FLAG_SRC_SCALE_K))
                    result[i] = fma(scaled, (vec_f)rows->src_scale[i / NV], result[i]);
                else
                    result[i] = fma(scaled, (vec_f)t->wei_scale[i % NV], result[i]);
            } else {
                carried[i] = HAS(FLAG_INTEGER) ? isum[i] : as_vec_i(fsum[i]);
            }
        }
    }
}

// All groups of rows of the tile, as even as they can be.
static inline void multiply_tile(bytes src, global const struct matmul_problem *p,
                                 const struct matmul_arguments *args, __private struct tile *t,
                                 const struct block *block, struct b_panel b) {
    struct row_parameters rows;
#if WORK_ITEMS > 1
    // Sums stay in registers, which have no addresses: all groups of the tile, unrolled by hand, because not
    // every compiler does it to the end.
#define GROUP(i)                                                                                             \
    if ((i) < TILE_M) {                                                                                      \
        load_row_parameters(ROWS, i, p, args, &t->rows, block, &rows);                                       \
        multiply_rows(ROWS, i, src, p, t, &rows, block, b);                                                  \
    }
    GROUP(0)
    GROUP(8)
    GROUP(16)
    GROUP(24)
    GROUP(32)
    GROUP(40)
    GROUP(48)
    GROUP(56)
#else
    if (HAS(FLAG_ALONG_K)) {
#pragma unroll 1
        for (int i = 0; i < t->count; ++i) {
            load_row_parameters(1, i, p, args, &t->rows, block, &rows);
            prefetch_b(b, block->length, i, t->count);
            multiply_rows(1, i, src, p, t, &rows, block, b);
        }
        return;
    }
#if ANY_ROW_COUNT
    const int groups = (t->count + ROWS - 1) / ROWS;
    int group = 0;
#if ROWS > 6
    // Of variants for 1 to ROWS rows there would be too many to compile: the last group repeats its last row.
    for (int i = 0; i < t->count;) {
        const int left = t->count - i;
        const int count = left > 8 ? ROWS : left > 4 ? 8 : left == 3 ? 4 : left;
#else
    const int each = t->count / groups;
    int larger = t->count - each * groups; // groups with one row more
    for (int i = 0; i < t->count;) {
        const int count = each + (larger-- > 0 ? 1 : 0);
#endif
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        load_row_parameters(n, i, p, args, &t->rows, block, &rows);                                          \
        multiply_rows(n, i, src, p, t, &rows, block, b);                                                     \
        break;
        prefetch_b(b, block->length, group++, groups);
        if (i + count < t->count)
            prefetch_a(src, t->rows.src + i + count, count, block->k0, block->length);
        else
            prefetch_a(src, t->rows.src, count, block->k0 + block->length, block->length);
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
    for (int i = 0; i < t->count; i += ROWS) {
        load_row_parameters(ROWS, i, p, args, &t->rows, block, &rows);
        multiply_rows(ROWS, i, src, p, t, &rows, block, b);
    }
#endif
#endif
}

// Number of the group of K that the block is in.
static inline parameter_index along_k(global const struct matmul_problem *p, const struct block *block,
                                      long group) {
    return (parameter_index)(HAS(FLAG_EQUAL_GROUPS) ? block->segment
                                                    : (parameter_index)block->k0 / (parameter_index)group);
}

// Zero points and scales of the columns, in the block's segment.
static inline void load_column_parameters(global const struct matmul_problem *p,
                                          const struct matmul_arguments *args, const struct block *block,
                                          __private struct tile *t) {
    if (HAS(FLAG_WEI_ZP) && (HAS(FLAG_WEI_ZP_K) || block->opens))
        load_column_zero_points(t->wei_zp, args->wei_zp, &p->wei_zp, spec_wei_zp_dt(), args->host_wei_zp,
                                &t->wei_zp_at, along_k(p, block, p->wei_zp.row_group) * block->steps.wei_zp);
    // The policy's weights are w - WEI_SHIFT, and so are their zero points.
    if (WEI_SHIFT != 0 && (HAS(FLAG_WEI_ZP_K) || block->opens))
        for (int v = 0; v < NV; ++v)
            t->wei_zp[v] = (HAS(FLAG_WEI_ZP) ? t->wei_zp[v] : (column_i)0) - (column_i)WEI_SHIFT;
    if (HAS(FLAG_WEI_SCALE) && (HAS(FLAG_WEI_SCALE_K) || block->opens))
        load_column_scales(t->wei_scale, args->wei_scale, &p->wei_scale, spec_wei_scale_dt(),
                           args->host_wei_scale, &t->wei_scale_at,
                           along_k(p, block, p->wei_scale.row_group) * block->steps.wei_scale);
#ifdef SUM_FACTOR
    if (HAS(FLAG_WEI_SCALE) && (HAS(FLAG_WEI_SCALE_K) || block->opens))
        for (int v = 0; v < NV; ++v)
            t->wei_scale[v] *= SUM_FACTOR;
#endif
}

#if WORK_ITEMS > 1
// Panel i of the block, of those that share the parameters of rows and columns.
static inline __attribute__((always_inline)) void
multiply_panel(const int i, struct block block, bytes src, global const struct matmul_problem *p,
               const struct matmul_arguments *args, const struct wei_source *source,
               __private panel_vec *panel, __private struct tile *t) {
    block.k0 += i * spec_panel_k();
    block.last = block.last && i + 1 == spec_panels();
    if (i > 0) {
        block.first = block.opens = false;
        leave_first_panel(&t->rows);
    }
    const struct b_panel b = load_b(source, p, block.k0, block.length, t->wei_zp, panel);
    if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
        add_wei_sums(b, block.length, t->wei_sum);
    multiply_tile(src, p, args, t, &block, b);
}
#endif

// The tile's sums over its part of K.
static inline void sum_range(bytes src, bytes wei, global const struct matmul_problem *p,
                             const struct matmul_arguments *args, const struct row_index *first,
                             const struct place *at, __private struct tile *t) {
    const struct k_part part = find_k_part(p, at);
    const k_index k_begin = part.begin, k_end = part.end;
    panel_vec panel[PANEL_VECTORS];
    const struct wei_source source = open_wei(wei, p, batch_offset(p, &p->wei, first), t->n0, t->columns);
#if WORK_ITEMS > 1
    struct ahead ahead = look_ahead(p, &t->rows, &source, k_begin, at->slices == 1);
#endif
    const k_index segment = (k_index)p->segment;
    struct block block = {.k0 = k_begin, .segment = k_begin / segment};
#if WORK_ITEMS > 1
    block.steps = steps_of(p); // once, in registers that all lanes share
#endif
    k_index segment_end = (block.segment + 1) * segment;
    for (; block.k0 < k_end; block.k0 += block.length) {
#if WORK_ITEMS == 1
        block.steps = steps_of(p);
#endif
        if (block.k0 == segment_end) {
            ++block.segment;
            segment_end += segment;
        }
        // A range ends its part of the segment: each one takes the zero points of src off its own sums.
        const k_index end = min(segment_end, k_end);
        block.length = (int)min((k_index)BLOCK_K, end - block.k0);
        block.first = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 == segment_end - segment;
        block.last = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 + block.length == end;
        if (HAS(FLAG_SRC_SCALE_K))
            block.src_scale = along_k(p, &block, p->src_scale.column_group) * block.steps.src_scale;
        if (HAS(FLAG_SRC_ZP))
            block.src_zp = along_k(p, &block, p->src_zp.column_group) * block.steps.src_zp;
        block.opens = block.k0 == k_begin;
        if (block.first || block.opens) {
            load_column_parameters(p, args, &block, t);
            for (int v = 0; v < NV; ++v)
                t->wei_sum[v] = (column_i)0;
        }
        load_block_rows(p, args, &block, &t->rows);
#if WORK_ITEMS > 1
        if (block.k0 + 2 * BLOCK_K <= k_end)
            prefetch_block(&ahead);
        multiply_panel(0, block, src, p, args, &source, panel, t);
        if (spec_panels() == 2)
            multiply_panel(1, block, src, p, args, &source, panel, t);
#else
        const struct b_panel b = load_b(&source, p, block.k0, block.length, t->wei_zp, panel);
        if (HAS(FLAG_INTEGER) && HAS(FLAG_SRC_ZP))
            add_wei_sums(b, block.length, t->wei_sum);
        multiply_tile(src, p, args, t, &block, b);
#endif
    }
}

#if WORK_ITEMS == 1
__attribute__((reqd_work_group_size(GROUP_X, 1, 1)))
#else
__attribute__((intel_reqd_sub_group_size(LANES)))
#endif
kernel void
matmul(bytes src, bytes wei, global uchar *dst, global const struct matmul_problem *restrict p,
       struct matmul_arguments args
#if WORK_ITEMS > 1
       ,
       local column_f *shared // of the sub-groups, with FLAG_SLICES
#endif
) {
    struct place at = find_place(p);
    const bool is_there = at.n0 < p->n && at.row0 < p->rows;
#if WORK_ITEMS == 1
    if (!is_there)
        return;
#else
    if (!is_there) {
        if (!HAS(FLAG_SLICES)) // else others may wait for this sub-group
            return;
        at.n0 = at.row0 = 0;
    }
#endif
    const int tile_rows = HAS(FLAG_FINISH) ? p->finish_rows : p->tile_rows;
    const long first_row = get_group_id(1) * p->rows + at.row0; // in the whole of dst

    struct tile t;
#if WORK_ITEMS == 1
    t.n0 = at.n0;
    t.columns = (int)min((long)TILE_N, p->n - t.n0);
#else
    t.n0 = at.n0 + get_sub_group_local_id();
    t.columns = (int)min((long)NV, (p->n - t.n0 + LANES - 1) / LANES); // 0 or less: none
#endif
    t.count = is_there ? (int)min((long)tile_rows, p->rows - at.row0) : 0;
    // The weights and their parameters depend on the batch, never on the row within a tile.
    const struct row_index first = row_at(p, first_row);
    if (HAS(FLAG_WEI_ZP))
        t.wei_zp_at = find_columns(p, &p->wei_zp, &first, t.n0, t.columns);
    if (HAS(FLAG_WEI_SCALE))
        t.wei_scale_at = find_columns(p, &p->wei_scale, &first, t.n0, t.columns);
    const struct block all = {.opens = true};
    if (!HAS(FLAG_FINISH)) {
        find_rows(src, p, first_row, at.row0, t.count, &t.rows);
#if WORK_ITEMS > 1
#pragma unroll
        for (int i = 0; i < TILE_VECTORS; ++i) {
            t.sum[i] = (vec_i)0;
            t.result[i] = (vec_f)0.f;
        }
#else
        const int vectors = (t.count + ROWS - 1) / ROWS * ROWS * NV;
        for (int i = 0; i < (SEGMENTS_ARE_SCALED ? vectors : 0); ++i)
            t.result[i] = (vec_f)0.f;
#endif
        if (is_there)
            sum_range(src, wei, p, &args, &first, &at, &t);
    }
// values: the sums over K, row by row; f32, or bits of an s32 where FLAG_INTEGER and segments are not scaled.
#if WORK_ITEMS == 1
    __private column_f *values = SEGMENTS_ARE_SCALED ? t.result : (__private column_f *)t.sum;
#else
    column_f values[TILE_M * NV];
    if (!HAS(FLAG_FINISH))
        store_values(&t, values);
    if (HAS(FLAG_SLICES)) {
        load_column_parameters(p, &args, &all, &t);
        finish_slices(p, &args, dst, &t, &at, first_row, values, shared);
        return;
    }
#endif
    if (HAS(FLAG_FINISH)) {
        load_partials(p, &t, values, partial_sums(p, &args, first_row, t.n0));
        load_column_parameters(p, &args, &all, &t);
    }
    if (HAS(FLAG_PARTIAL)) {
        store_partials(p, &t, values,
                       partial_sums(p, &args, first_row, t.n0) + get_group_id(2) * p->partial_range);
        return;
    }
    for (int i = 0; i < t.count; ++i) {
        const struct row_index r = row_at(p, first_row + i);
        finish_tile_row(p, &args, dst, &r, &t, values + i * NV);
        store_row(p, dst, &r, t.n0, t.columns, values + i * NV);
    }
}

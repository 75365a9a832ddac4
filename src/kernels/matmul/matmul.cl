// SPDX-License-Identifier: Apache-2.0
// The matmul kernel: the loop nest that all owners and policies share (contract.h has the formula).
//
// K runs in segments, in which scales and zero points are constant, and a segment in blocks. The
// weights of a block become a panel. Groups of up to ROWS rows of src are multiplied with it. For
// integers, zero points are taken out of the loop over K (RFC "User's Precomputed Reductions for
// GeMM"):
//   sum (s - zs)(w - zw) = sum s w  -  zw * R  -  zs * sum w  +  length * zs * zw,   R = sum s
// The caller or reduce_src.cl gives R. Integer arithmetic is exact modulo 2^32.
#include OWNER

#include POLICY

#include "matmul/contract.h"

#include OWNER_LOOPS

#include "owner/finish.h"
#include "owner/partials.h"

// The sums of `count` rows from row i0 of the tile on, over one block.
static inline __attribute__((always_inline)) void
multiply_rows(const int count, int i0, bytes src, global const struct matmul_problem *p,
              __private struct tile *t, __private struct row_parameters *parameters,
              const struct k_block *block, struct b_panel b) {
    vec_i isum[VECTORS(ROWS)];
    vec_f fsum[VECTORS(ROWS)];
    __private vec_i *carried = t->sum + VECTORS(SUM_ROW(t, i0));
    __private vec_f *result = t->result + VECTORS(SUM_ROW(t, i0));
    const bool begins = SUM_BEGINS(block), ends = SUM_ENDS(block);
    struct a_group a;
    load_group(src, p, &t->rows, i0, block->k0, &a);
    const int at_once = AT_ONCE(count);
    EACH_PART
#pragma unroll
    for (int v = 0; v < PART_VECTORS(count); v += at_once) {
#pragma unroll
        for (int i = v; i < v + at_once; ++i) {
            const vec_i sum = begins ? (vec_i)SUM_BEGIN : carried[RESULT_OF(i)];
            if (HAS(FLAG_INTEGER))
                isum[SUM_OF(i)] = sum;
            else
                fsum[SUM_OF(i)] = as_vec_f(sum);
            if (HAS(FLAG_REDUCTIONS) && spec_zp_term() != ZP_TERM_F32 && TAKES_CORRECTION(block))
                isum[SUM_OF(i)] -=
                    zero_point_term(t->wei_zp[COLUMN_OF(i)], (vec_i)parameters->correction[ROW_OF(i)]);
            if (SUMS_ARE_BITS && spec_zp_term() == ZP_TERM_F32)
                isum[SUM_OF(i)] =
                    as_vec_i(fma((vec_f)to_column_f(-t->wei_zp[COLUMN_OF(i)]),
                                 (vec_f)parameters->float_correction[ROW_OF(i)], as_vec_f(sum)));
        }
        multiply(count, FIRST_OF(v), &a, block->length, b, isum, fsum);
        load_scaling_parameters(count, i0, &t->rows, parameters);
#pragma unroll
        for (int i = v; i < v + at_once; ++i) {
            if (HAS(FLAG_SRC_ZP) && block->last)
                isum[SUM_OF(i)] -= (vec_i)t->wei_sum[COLUMN_OF(i)] * (vec_i)parameters->src_zp[ROW_OF(i)];
            if (ends) {
                vec_f scaled = HAS(FLAG_INTEGER) ? to_vec_f(isum[SUM_OF(i)]) : fsum[SUM_OF(i)];
                if (ADDS_OFFSETS)
                    scaled *= (vec_f)t->wei_scale[COLUMN_OF(i)];
                if (!SUMS_ARE_BITS && spec_zp_term() == ZP_TERM_F32 && ENDS_WITH_TERM(block)) {
                    const vec_f zp = (vec_f)float_zero_points(t->wei_zp[COLUMN_OF(i)]);
                    const vec_f correction = (vec_f)parameters->float_correction[ROW_OF(i)];
                    // A float zero point's term is not exact: it must not be rounded on its own.
                    scaled = HAS(FLAG_FLOAT_ZP) ? fma(-zp, correction, scaled) : scaled - zp * correction;
                }
                if (SUMS_ARE_BITS) // SUM_BEGIN * scale is exact: this rounds sum * scale once
                    scaled = fma(as_vec_f(isum[SUM_OF(i)]), (vec_f)t->wei_scale[COLUMN_OF(i)],
                                 (vec_f)(t->wei_scale[COLUMN_OF(i)] * -as_column_f((column_i)SUM_BEGIN)));
                else if (!ADDS_OFFSETS) {
                    if (HAS(FLAG_WEI_SCALE_K) && HAS(FLAG_SRC_SCALE_K))
                        scaled *= (vec_f)t->wei_scale[COLUMN_OF(i)];
                }
                if (HAS(FLAG_SRC_SCALE_K))
                    result[RESULT_OF(i)] =
                        fma(scaled, (vec_f)parameters->src_scale[ROW_OF(i)], result[RESULT_OF(i)]);
                else if (ADDS_OFFSETS)
                    result[RESULT_OF(i)] += scaled;
                else
                    result[RESULT_OF(i)] =
                        fma(scaled, (vec_f)t->wei_scale[COLUMN_OF(i)], result[RESULT_OF(i)]);
            } else {
                carried[RESULT_OF(i)] = HAS(FLAG_INTEGER) ? isum[SUM_OF(i)] : as_vec_i(fsum[SUM_OF(i)]);
            }
        }
    }
}

// As load_column_zero_points, for floats, which the loads of scales read, and shifted.
static inline void load_float_zero_points(global const struct matmul_problem *p,
                                          const struct matmul_arguments *args, const struct k_block *block,
                                          __private struct tile *t) {
    if (!HAS(FLAG_WEI_ZP_K) && !block->opens)
        return;
    column_f zp[NV];
    load_column_scales(zp, args->wei_zp, &p->wei_zp, WEI_ZP_DT(p), as_float(args->host_wei_zp), &t->wei_zp_at,
                       along_k(p, block, p->wei_zp.row_group) * block->steps.wei_zp);
    if (spec_wei_zp_factor_dt() != 0)
        multiply_by_factors(zp, args->wei_zp_factor, &p->wei_zp_factor, spec_wei_zp_factor_dt(), block,
                            &t->wei_zp_factor);
    for (int v = 0; v < NV; ++v)
        t->wei_zp[v] = as_column_i(HAS(FLAG_OFFSETS) ? zp[v] : zp[v] - (column_f)(float)WEI_SHIFT);
}

// Makes zero points of the offsets that were loaded in their place. Where the nest adds them to scaled sums,
// they have the weights' scale already, and the other sign.
static inline void fold_offsets(__private struct tile *t) {
    for (int v = 0; v < NV; ++v) {
        const column_f offset = as_column_f(t->wei_zp[v]), shift = (column_f)(float)WEI_SHIFT;
        if (ADDS_OFFSETS) {
            t->wei_zp[v] = as_column_i(WEI_SHIFT == 0 ? -offset : -fma(t->wei_scale[v], shift, offset));
            continue;
        }
        t->wei_scale[v] = divisor_of_offset(offset, t->wei_scale[v]);
        t->wei_zp[v] = as_column_i(zero_point_of_offset(offset, t->wei_scale[v]) - shift);
    }
}

// Loads zero points and scales of the columns for the block's segment.
static inline void load_column_parameters(global const struct matmul_problem *p,
                                          const struct matmul_arguments *args, const struct k_block *block,
                                          __private struct tile *t) {
    if (HAS(FLAG_FLOAT_ZP))
        load_float_zero_points(p, args, block, t);
    else if (HAS(FLAG_WEI_ZP) && (HAS(FLAG_WEI_ZP_K) || block->opens))
        load_column_zero_points(t->wei_zp, args->wei_zp, &p->wei_zp, WEI_ZP_DT(p), args->host_wei_zp,
                                &t->wei_zp_at, along_k(p, block, p->wei_zp.row_group) * block->steps.wei_zp);
    // The policy multiplies w - WEI_SHIFT, so its zero points are also shifted.
    if (WEI_SHIFT != 0 && !HAS(FLAG_FLOAT_ZP) && (HAS(FLAG_WEI_ZP_K) || block->opens))
        for (int v = 0; v < NV; ++v)
            t->wei_zp[v] = (HAS(FLAG_WEI_ZP) ? t->wei_zp[v] : (column_i)0) - (column_i)WEI_SHIFT;
    keep_float_zero_points(t, block);
    if (SCALES_COLUMNS && (HAS(FLAG_WEI_SCALE_K) || block->opens)) {
        column_f scale[NV];
        load_column_scales(scale, args->wei_scale, &p->wei_scale, WEI_SCALE_DT(p), args->host_wei_scale,
                           &t->wei_scale_at,
                           along_k(p, block, p->wei_scale.row_group) * block->steps.wei_scale);
        if (spec_wei_scale_factor_dt() != 0)
            multiply_by_factors(scale, args->wei_scale_factor, &p->wei_scale_factor,
                                spec_wei_scale_factor_dt(), block, &t->wei_scale_factor);
        for (int v = 0; v < NV; ++v)
            t->wei_scale[v] = scale[v];
        if (HAS(FLAG_OFFSETS))
            fold_offsets(t);
        for (int v = 0; v < NV; ++v)
            t->wei_scale[v] *= SUM_FACTOR;
    }
}

#ifndef WITHOUT_FEW_ROWS
#include "owner/work_item/few_rows.h"
#endif

// Sums the tile over its part of K: a range or a slice.
static inline void sum_range(bytes src, bytes wei, global const struct matmul_problem *p,
                             const struct matmul_arguments *args, const struct row_index *first,
                             const struct place *at, __private struct tile *t) {
    const struct k_part part = find_k_part(p, args, at);
    const k_index k_begin = part.begin, k_end = part.end;
    panel_vec panel[PANEL_VECTORS];
    const struct wei_source source = open_wei(wei, p, batch_offset(p, &p->wei, first), t->n0, t->columns);
#ifndef WITHOUT_FEW_ROWS
    if (HAS_FEW_ROWS) {
        sum_few_rows(src, p, args, &part, &source, panel, t);
        return;
    }
#endif
    BEFORE_PRODUCTS();
    struct ahead ahead = look_ahead(p, &t->rows, &source, k_begin, at->slices == 1);
    const k_index segment = (k_index)p->segment;
    struct k_block block = {.k0 = k_begin, .segment = k_begin / segment};
    block.steps = steps_of(p);
    k_index segment_end = (block.segment + 1) * segment;
    NOTE_END(t, k_end);
    WALK_COLUMNS(args, p, block.segment, t);
    WALK_ROWS(args, &block, &t->rows);
    for (; block.k0 < k_end; block.k0 += block.length) {
        if (block.k0 == segment_end) {
            ++block.segment;
            segment_end += segment;
        }
        // A segment that goes on in the next range ends here: each range subtracts the zero-point
        // terms of src from its own sums.
        const k_index end = min(segment_end, k_end);
        block.length = BLOCK_LENGTH(block.k0, end);
        block.first = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 == segment_end - segment;
        block.last = HAS(FLAG_WHOLE_SEGMENTS) || block.k0 + block.length == end;
        if (HAS(FLAG_SRC_SCALE_K))
            block.src_scale = along_k(p, &block, p->src_scale.column_group) * block.steps.src_scale;
        if (HAS(FLAG_SRC_ZP))
            block.src_zp = along_k(p, &block, p->src_zp.column_group) * block.steps.src_zp;
        block.opens = block.k0 == k_begin;
        EACH_TILE(p, t) {
            if (block.first || block.opens) {
                load_column_parameters(p, args, &block, t);
                for (int v = 0; v < NV; ++v)
                    t->wei_sum[v] = (column_i)0;
            }
            load_block_rows(p, args, &block, &t->rows);
            if (block.k0 + 2 * BLOCK_K <= k_end)
                prefetch_block(&ahead);
            multiply_block(&block, src, p, args, &source, panel, t);
        }
    }
    // The sums of a group without blocks are zeros, whose scales no block has loaded.
    if (HAS_K_GROUPS(p) && k_begin >= k_end) {
        EACH_TILE(p, t) {
            for (int v = 0; v < NV; ++v)
                t->wei_scale[v] = (column_f)0.f;
        }
    }
    WALK_COLUMNS(args, p, 0, t);
    AFTER_PRODUCTS();
    subtract_last_terms(t);
}

OWNER_FUNCTION(bytes src, bytes wei, global uchar *dst, global const struct matmul_problem *restrict p,
               OWNER_PARAMETERS) {
    struct place at = find_place(p, ARGUMENTS OWNER_GROUP);
    const bool is_there = at.n0 < p->n && at.rows > 0;
    if (!is_there) {
        if (!SHARES_TILES) // else it must reach the barriers of its work-group
            return;
        at.n0 = at.row0 = 0;
    }
    const long first_row = at.matrix * p->rows + at.row0; // counted in the whole batch

    struct tile t;
    t.n0 = at.n0 + OWN_COLUMN;
    // 0 or less if the work-item has no column in the matrix.
    t.columns = (int)min((long)TILE_COLUMNS, (p->n - t.n0 + COLUMN_STEP - 1) / COLUMN_STEP);
    t.count = is_there ? at.rows : 0;
    // The weights, their scales and zero points depend on the batch, but all rows of a tile use the
    // same.
    const struct row_index first = row_at(p, first_row);
    if (HAS(FLAG_WEI_ZP))
        t.wei_zp_at = find_columns(p, &p->wei_zp, &first, t.n0, t.columns);
    if (SCALES_COLUMNS)
        t.wei_scale_at = find_columns(p, &p->wei_scale, &first, t.n0, t.columns);
    if (spec_wei_zp_factor_dt() != 0)
        t.wei_zp_factor.from = find_columns(p, &p->wei_zp_factor, &first, t.n0, t.columns);
    if (spec_wei_scale_factor_dt() != 0)
        t.wei_scale_factor.from = find_columns(p, &p->wei_scale_factor, &first, t.n0, t.columns);
    WALK_COLUMNS(ARGUMENTS, p, 0, &t);
    const struct k_block all = {.opens = true};
    if (spec_stage() != STAGE_ADD_RANGES) {
        find_rows(src, p, first_row, at.row0, t.count, &t.rows);
        clear_sums(p, &t);
        PREFETCH_DST(p, dst, &first, first_row, &t);
        if (is_there)
            sum_range(src, wei, p, ARGUMENTS, &first, &at, &t);
    }
    // The sums over K, [TILE_M][NV]: f32, or the bits of s32 if FLAG_INTEGER is set and segments
    // are not scaled.
    column_f apart[VALUES_APART];
    __private column_f *values = values_of(&t, apart);
    if (SHARES_TILES) {
        load_column_parameters(p, ARGUMENTS, &all, &t);
        finish_slices(p, ARGUMENTS, dst, &t, &at, first_row, values OWNER_ARGUMENTS);
        return;
    }
    const long summed_row = HAS_ROW_GROUPS(p) ? at.row0 : first_row; // its number among the partial sums
    if (spec_stage() == STAGE_ADD_RANGES) {
        load_partials(p, &t, values, partial_sums(p, ARGUMENTS, summed_row, t.n0));
        load_column_parameters(p, ARGUMENTS, &all, &t);
    }
    if (IS_PARTIAL(p)) {
        EACH_TILE(p, &t)
        store_partials(p, &t, TILE_VALUES(&t, values),
                       partial_sums(p, ARGUMENTS, summed_row, t.n0) + GROUP_ID(&at, 2) * p->partial_range);
        return;
    }
    EACH_TILE(p, &t)
    for (int i = 0; i < t.count; ++i) {
        const struct row_index r = ROW_OF_TILE(p, &first, first_row + i, i);
        finish_tile_row(p, ARGUMENTS, dst, &r, &t, TILE_VALUES(&t, values) + i * NV);
        store_row(p, dst, &r, t.n0, t.columns, TILE_VALUES(&t, values) + i * NV);
    }
}

OWNER_KERNELS

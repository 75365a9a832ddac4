// SPDX-License-Identifier: Apache-2.0
// Up to ROWS rows of src by packed weights whose scales or zero points change along K: the time goes into
// reading the weights. A loop over segments of its own keeps results in registers and decides nothing that
// the constants of the module do not say.
#pragma once

#include "owner/tile.h"
#include "owner/work_item/scaled_sum.h"

// Prefetches scales or zero points of the tile's columns. Those of the next segments are too far apart in
// memory for the hardware's prefetchers.
static inline void prefetch_parameters(ulong address, tensor t, int data_type,
                                       const struct column_source *from, long row, long columns) {
    bytes at = (bytes)address + (from->begin + row + from->n0 + columns) * type_bits(data_type) / 8;
#pragma unroll
    for (int i = 0; i < TILE_N * type_bits(data_type) / 8; i += 64)
        prefetch_line(at + i);
}

// Prefetches the factors of the next group of K, or of the next tile's first one, where a group begins.
static inline void prefetch_factors(ulong address, tensor t, int data_type,
                                    __private const struct column_factors *f, const struct k_block *block,
                                    long k) {
    if (block->k0 + t->row_group == f->end)
        prefetch_parameters(address, t, data_type, &f->from, f->end < k ? f->row + t->row : 0,
                            f->end < k ? 0 : TILE_N);
}

// Prefetches what the columns need of a later segment, which may be one of the next tile.
static inline void prefetch_columns(global const struct matmul_problem *p,
                                    const struct matmul_arguments *args, const struct k_block *block,
                                    long segments, long ahead, __private const struct tile *t) {
    const bool is_here = block->segment + ahead < segments;
    const long segment = block->segment + ahead - (is_here ? 0 : segments), columns = is_here ? 0 : TILE_N;
    if (HAS(FLAG_WEI_SCALE_K))
        prefetch_parameters(args->wei_scale, &p->wei_scale, WEI_SCALE_DT(p), &t->wei_scale_at,
                            segment * block->steps.wei_scale, columns);
    if (HAS(FLAG_WEI_ZP_K))
        prefetch_parameters(args->wei_zp, &p->wei_zp, WEI_ZP_DT(p), &t->wei_zp_at,
                            segment * block->steps.wei_zp, columns);
    if (spec_wei_scale_factor_dt() != 0)
        prefetch_factors(args->wei_scale_factor, &p->wei_scale_factor, spec_wei_scale_factor_dt(),
                         &t->wei_scale_factor, block, p->k);
    if (spec_wei_zp_factor_dt() != 0)
        prefetch_factors(args->wei_zp_factor, &p->wei_zp_factor, spec_wei_zp_factor_dt(), &t->wei_zp_factor,
                         block, p->k);
}

// Adds the products of `count` rows, from row i0 of the tile on, with elements `begin` to `end` of K to their
// results. part_end: where the tile's part of K ends.
static inline __attribute__((always_inline)) void
sum_rows(const int count, int i0, k_index begin, k_index end, k_index part_end, bytes src,
         global const struct matmul_problem *p, const struct matmul_arguments *args,
         const struct wei_source *source, __private panel_vec *panel, __private struct tile *t) {
    __private vec_f *to = t->result + i0 * NV;
    vec_f results[ROWS * NV];
#pragma unroll
    for (int i = 0; i < count * NV; ++i)
        results[i] = to[i];
    const k_index segment = (k_index)p->segment;
    struct k_block block = {.k0 = begin, .segment = begin / segment, .first = true, .last = true};
    block.steps = steps_of(p);
    struct few_rows rows;
    open_rows(count, src, p, t->rows.src + i0, part_end, &rows);
    open_panel(panel, i0, t->count, &rows);
    const long ahead = max(1l, AHEAD_K / segment), segments = (p->k + segment - 1) / segment;
    bytes wei = source->wei + block_begin(source, p, block.k0) * wei_bits() / 8;
#pragma unroll 1
    for (; block.k0 < end; block.k0 += block.length, ++block.segment) {
        block.length = (int)min(segment, end - block.k0);
        block.opens = block.k0 == begin;
        load_column_parameters(p, args, &block, t);
        prefetch_columns(p, args, &block, segments, ahead, t);
        vec_i isum[ROWS * NV];
        vec_f fsum[ROWS * NV];
        int correction[ROWS]; // with floats the bits of an f32
#pragma unroll
        for (int i = 0; i < count; ++i) {
            correction[i] =
                HAS(FLAG_REDUCTIONS) ? load_correction(p, args, &block, t->rows.reductions[i0 + i], 0) : 0;
#pragma unroll
            for (int v = 0; v < NV; ++v) {
                isum[i * NV + v] = -subtrahend(t->wei_zp[v], correction[i]);
                fsum[i * NV + v] = (vec_f)0.f;
            }
        }
        multiply_few_rows(count, &rows, wei, &block, t->wei_zp, t->wei_scale, isum, fsum, correction);
        wei += (long)block.length * PACKED_N * wei_bits() / 8;
        const long scale_at = along_k(p, &block, p->src_scale.column_group) * block.steps.src_scale;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float scale = HAS(FLAG_SRC_SCALE_K)
                                    ? load_scale(args->src_scale, SRC_SCALE_DT(p), args->host_src_scale,
                                                 t->rows.src_scale[i0 + i] + scale_at)
                                    : 1.f;
            const int term = !HAS(FLAG_INTEGER)              ? correction[i]
                             : spec_zp_term() == ZP_TERM_F32 ? as_int((float)correction[i])
                                                             : 0;
#pragma unroll
            for (int v = 0; v < NV; ++v)
                results[i * NV + v] = add_scaled(
                    results[i * NV + v], HAS(FLAG_INTEGER) ? to_vec_f(isum[i * NV + v]) : fsum[i * NV + v],
                    t->wei_zp[v], t->wei_scale[v], term, scale);
        }
    }
#pragma unroll
    for (int i = 0; i < count * NV; ++i)
        to[i] = results[i];
}

// Groups of rows, which differ by one row at most, take turns at blocks of K, whose weights stay in the L1
// cache.
static inline void sum_few_rows(bytes src, global const struct matmul_problem *p,
                                const struct matmul_arguments *args, const struct k_part *part,
                                const struct wei_source *source, __private panel_vec *panel,
                                __private struct tile *t) {
    const k_index segment = (k_index)p->segment;
    const int groups = (t->count + ROWS - 1) / ROWS, each = t->count / groups;
    const k_index whole = part->end - part->begin;
    const k_index length = groups == 1 ? whole : max((k_index)1, KEPT_K / segment) * segment;
#pragma unroll 1
    for (k_index k = part->begin; k < part->end; k += length) {
        const k_index end = min(k + length, (k_index)part->end);
        int larger = t->count - each * groups; // groups that have one row more
#pragma unroll 1
        for (int i0 = 0, count; i0 < t->count; i0 += count) {
            count = each + (larger-- > 0 ? 1 : 0);
#define COUNT(n)                                                                                             \
    case n:                                                                                                  \
        sum_rows(n, i0, k, end, part->end, src, p, args, source, panel, t);                                  \
        break;
            switch (count) { COUNT(1) COUNT(2) COUNT(4) MORE_COUNTS(COUNT) }
#undef COUNT
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Finishes dst where matmul.cl only makes the sums: dropout, scales of dst that are results, and stochastic
// rounding. A matmul with one of them writes its sums as f32, row-major, and this kernel does all that
// follows: bias, dropout, post-ops, scale and zero point of dst, rounding, conversion.
#define LANES 16
#define TILE_N 32

#include "args/finish_args.h"
#include "arithmetic/stochastic.h"
#include "owner/work_item/epilogue.h"
#include "problem/element_offset.h"
#include "quantize/group_scale.h"

#ifndef SUMS_DT
#define SUMS_DT DT_F32
#endif

// Drops each value with the given probability, and scales up those that it keeps. The number of an
// element is its place in dst's memory.
static inline void drop_out(global const struct finish_problem *f, const struct finish_arguments *more,
                            const struct row_index *r, long n0, int columns, __private float *x) {
    global const struct matmul_problem *p = &f->matmul;
    const bool on_host = f->random_on_host;
    const float given = on_host ? more->host_probability : *(global const float *)more->probability;
    const float probability = clamp(given, 0.f, 1.f);
    const long seed = on_host          ? more->host_seed
                      : f->seed_is_s64 ? *(global const long *)more->seed
                                       : *(global const int *)more->seed;
    const long offset = on_host             ? more->host_offset
                        : more->offset != 0 ? *(global const long *)more->offset
                                            : 0;
    // Numbers above the threshold are kept: 2^32 - 1 times the probability, rounded down. An f32 has 24
    // bits, so both factors and their product are exact as integers of 56 bits and a power of 2.
    int exponent;
    const ulong digits = (ulong)(frexp(probability, &exponent) * 0x1p24f);
    const int shift = 24 - exponent;
    const ulong threshold = shift > 63 ? 0 : digits * 0xfffffffful >> shift;
    const float factor = probability < 1.f ? 1.f / (1.f - probability) : 0.f;
    const long row = row_offset(p, &p->dst, r), mask_row = row_offset(p, &f->dropout_mask, r);
    uint4 numbers = (uint4)0;
    ulong known = 0; // numbers are those of four elements from 4 * known on
    for (int j = 0; j < columns; ++j) {
        const ulong i = row + (n0 + j) * p->dst.column;
        if (j == 0 || i / 4 != known) {
            known = i / 4;
            numbers = offset != 0 ? random_wide(i, seed, offset) : (uint4)random_narrow((uint)i, (uint)seed);
        }
        const uint number = lane(numbers, i);
        const bool is_kept = probability < 1.f && number > threshold;
        x[j] = is_kept ? x[j] * factor : 0.f;
        if (more->dropout_mask != 0)
            ((global uchar *)more->dropout_mask)[mask_row + (n0 + j) * f->dropout_mask.column] = is_kept;
    }
}

// Scales a group of 16 or 32 columns by its largest magnitude, and writes the scale (OCP MX; NVFP4).
static inline void scale_group(global const struct finish_problem *f, const struct finish_arguments *more,
                               const struct row_index *r, long n0, int columns, __private column_f *x) {
    global const struct matmul_problem *p = &f->matmul;
    const int vectors = columns / LANES;
    const struct group_scale scale =
        group_scale_of(f->dynamic_scales == DYNAMIC_MX, largest_magnitude(x, vectors), f->largest,
                       f->largest_exponent, true);
    ((global uchar *)more->dst_scale)[row_offset(p, &p->dst_scale, r) + column_offset(&p->dst_scale, n0)] =
        (uchar)scale.code;
    for (int v = 0; v < vectors; ++v)
        x[v] = scaled_values(x[v], scale.factor, f->largest);
}

// The place of an element in the memory of a dst with blocks.
static inline long place_in_blocks(global const struct finish_problem *f, const struct row_index *r, long n) {
    const int batch_ndims = f->matmul.batch_ndims;
    long c[REORDER_MAX_NDIMS];
    for (int d = 0; d < batch_ndims; ++d)
        c[d] = r->batch[d];
    c[batch_ndims] = r->m;
    c[batch_ndims + 1] = n;
    return element_offset(&f->blocked_dst, batch_ndims + 2, c);
}

// Adds random bits below the digits that dst keeps, and cuts the rest off. The number of an element is that
// of its place in dst's memory.
static inline void round_randomly(global const struct finish_problem *f, const struct finish_arguments *more,
                                  const struct row_index *r, long n0, int columns, __private float *x) {
    global const struct matmul_problem *p = &f->matmul;
    const uint seed = *(global const uint *)more->rounding_seed;
    const uint dropped = (1u << f->dropped_bits) - 1, random = (1u << f->random_bits) - 1;
    const int per_word = 32 / f->random_bits, shift = f->random_bits == 8 ? 2 : 1;
    const long row = row_offset(p, &p->dst, r);
    uint word = 0;
    ulong known = 0; // word is that of the elements of this block
    for (int j = 0; j < columns; ++j) {
        const ulong i =
            f->blocked_dst.inner_nblks != 0 ? place_in_blocks(f, r, n0 + j) : row + (n0 + j) * p->dst.column;
        if (j == 0 || i >> (shift + 2) != known) {
            known = i >> (shift + 2);
            word = random_narrow((uint)(i >> shift), seed);
        }
        const uint number = word >> (i % per_word * f->random_bits);
        x[j] = round_at_random(x[j], number & random & dropped, dropped, f->largest_rounded, f->smallest);
    }
}

// Values of dst's range. NaN stays.
static inline void saturate(global const struct finish_problem *f, __private column_f *x) {
    for (int v = 0; v < NV; ++v)
        x[v] = select(clamp(x[v], -f->largest, f->largest), x[v], isnan(x[v]));
}

// Stores the columns of a row. Those of 8 and 4 bits have vectors here.
static inline void store_columns(global const struct matmul_problem *p, global uchar *dst,
                                 const struct row_index *r, long n0, int columns,
                                 __private const column_f *x) {
    const long row = row_offset(p, &p->dst, r);
    const int type = p->dst.data_type;
    if (has_vectors(type) || p->dst.column != 1 || columns % LANES != 0 || !is_whole_byte(type, row + n0)) {
        store_elements(dst, &p->dst, row, n0, columns, x);
        return;
    }
    for (int n = 0; n < columns; n += LANES)
        store_column_f(dst, type, row + n0 + n, x[n / LANES]);
}

__attribute__((reqd_work_group_size(1, 1, 1))) kernel void finish_dst(bytes sums, global uchar *dst,
                                                                      global const struct finish_problem *f,
                                                                      struct matmul_arguments args,
                                                                      struct finish_arguments more) {
    global const struct matmul_problem *p = &f->matmul;
    const long row = get_global_id(1); // counted in the whole batch
    const struct row_index r = row_at(p, row);
    const long begin = get_global_id(0) * f->piece, end = min(begin + f->piece, p->n);
    for (long n0 = begin; n0 < end; n0 += f->chunk) {
        const int columns = (int)min((long)f->chunk, end - n0);
        column_f x[NV];
        __private float *elements = (__private float *)x;
        for (int v = 0; v < NV; ++v)
            x[v] = 0.f;
        int n = 0;
        for (; n + LANES <= columns; n += LANES)
            x[n / LANES] = load_column_f(sums, SUMS_DT, row * p->n + n0 + n);
        for (; n < columns; ++n)
            elements[n] = load_float(sums, SUMS_DT, row * p->n + n0 + n);
        add_bias(p, &args, &r, n0, columns, x);
        if (f->has_dropout)
            drop_out(f, &more, &r, n0, columns, elements);
        if (HAS(FLAG_POST_OPS))
            apply_post_ops(p, &args, dst, &r, n0, columns, x);
        if (f->dynamic_scales != DYNAMIC_NONE)
            scale_group(f, &more, &r, n0, columns, x);
        else
            divide_by_dst_scale(p, &args, &r, n0, columns, x);
        add_dst_zero_point(p, &args, &r, n0, columns, x);
        if (f->saturates)
            saturate(f, x);
        if (f->random_bits != 0)
            round_randomly(f, &more, &r, n0, columns, elements);
        store_columns(p, dst, &r, n0, columns, x);
    }
}

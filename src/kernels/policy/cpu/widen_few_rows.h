// SPDX-License-Identifier: Apache-2.0
// Products of a few rows of floats by packed 8-bit and 4-bit weights, for owner/work_item/few_rows.h. It is a
// part of policy/cpu/avx512_widen.h, which has the products of a block.
#pragma once

struct few_rows {
    bytes src;
    __private const long *rows;
    long stride, begin, end, last; // elements of K that are loaded, from begin on, and where the range ends
    float a[ROWS * TILE_K];
};

static inline void open_rows(const int count, bytes src, global const struct matmul_problem *p,
                             __private const long *rows, long end, __private struct few_rows *r) {
    r->src = src;
    r->rows = rows;
    r->stride = p->src.column;
    r->begin = r->end = 0;
    r->last = end;
}

static inline void open_panel(__private panel_vec *panel, int i0, int rows, __private struct few_rows *r) {}

// Loads the rows from a block on, and further if sums of a block's vectors have no other elements.
static inline void load_few_rows(const int count, __private struct few_rows *r, const struct k_block *block) {
    const int wanted = block->length % 16 == 0 ? TILE_K : block->length;
    const int length = (int)min((long)wanted, r->last - block->k0);
    r->begin = block->k0;
    r->end = block->k0 + length;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        __private float *row = r->a + i * TILE_K;
        load_row(r->src, r->rows[i] + block->k0 * r->stride, r->stride, length, row);
        for (int k = length; k % 16 != 0; ++k)
            row[k] = 0.f;
    }
}

// sum[i * NV + v] += row i times column vector v, over a block. wei: where its weights begin. totals: the
// sums of the rows, where offsets of the weights want them.
static inline __attribute__((always_inline)) void
multiply_few_rows(const int count, __private struct few_rows *r, bytes wei, const struct k_block *block,
                  __private column_i *zero_points, __private column_f *scales, __private vec_i *unused,
                  __private vec_f *sum, __private int *totals) {
    if (block->k0 + block->length > r->end)
        load_few_rows(count, r, block);
    __private const float *a = r->a + (block->k0 - r->begin);
    const struct b_panel b = {wei, 0, zero_points};
    float total[ROWS];
    bool is_finite = true;
#pragma unroll
    for (int i = 0; i < (sums_rows() ? count : 0); ++i) {
        total[i] = sum_of_row(a + i * TILE_K, block->length);
        is_finite &= isfinite(total[i]) != 0;
        totals[i] = HAS(FLAG_OFFSETS) ? as_int(total[i]) : 0;
    }
    if (!is_finite) {
#pragma unroll
        for (int v = 0; v < (HAS(FLAG_OFFSETS) ? NV : 0); ++v) {
            const column_f offset = -as_column_f(zero_points[v]);
            scales[v] = divisor_of_offset(offset, scales[v]);
            zero_points[v] = as_column_i(zero_point_of_offset(offset, scales[v]));
        }
#pragma unroll
        for (int i = 0; i < count; ++i)
            totals[i] = 0;
        multiply_apart(count, a, block->length, b, sum);
        return;
    }
    if (wei_bits() == 8)
        multiply_int8(count, a, block->length, b, sum);
    else
        multiply_int4(count, a, block->length, b, sum);
#pragma unroll
    for (int i = 0; i < (sums_rows() ? count * NV : 0); ++i) {
        const vec_i centre = (vec_i)wei_centre();
        sum[i] += (HAS(FLAG_OFFSETS) ? to_vec_f(centre) : less_zero_point(centre, zero_points[i % NV])) *
                  (vec_f)total[i / NV];
    }
}

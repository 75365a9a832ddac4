// SPDX-License-Identifier: Apache-2.0
// Units of operands that are sums of two parts (policy/amx/tiles_multiply.h). The second part may be 0. If
// one operand is infinite, its product with that part is NaN, though the product of the values is not. So
// sums that are NaN are made once more, of the values.
#pragma once

// Steps of K that lie `step` bytes apart in src, by those of the weights from step `wei` on.
struct unit_steps {
    struct row_block rows; // of the first step
    long step;
    int count, wei;
};

static inline struct unit_steps steps_in_place(const struct row_block *rows, long first, int count) {
    struct unit_steps s = {*rows, 64, count, 0};
    s.rows.src += first;
    return s;
}
// first: the number of the first step in the copy.
static inline struct unit_steps steps_of_copy(const struct row_block *rows, int first, int count, int wei) {
    struct unit_steps s = {*rows, ROWS * 64, count, wei};
    s.rows.src += first * s.step;
    return s;
}

// The first or the second elements of words, whose other parts are `part` bytes further on.
static inline vec_f values_of_words(ulong words, long part, bool is_split, int shift) {
    const vec_i first = *(__private const vec_i *)words << shift;
    const vec_i second = is_split ? *(__private const vec_i *)(words + part) << shift : (vec_i)0;
    return as_vec_f(first & (int)0xffff0000) + as_vec_f(second & (int)0xffff0000);
}
static inline float value_of_word(ulong word, long part, bool is_split, int shift) {
    const int first = *(__private const int *)word << shift;
    const int second = is_split ? *(__private const int *)(word + part) << shift : 0;
    return as_float(first & (int)0xffff0000) + as_float(second & (int)0xffff0000);
}

// sum: [ROWS][UNIT_VECTORS]; v0: the unit's first vector; filled: as in wei_step().
static __attribute__((noinline)) void add_values(const struct unit_steps *s, struct b_panel b, int filled,
                                                 int v0, __private vec_f *sum) {
    for (int n = 0; n < s->count; ++n)
        for (int k = 0; k < 32; ++k) {
            const int shift = k % 2 == 0 ? 16 : 0;
            vec_f wei[UNIT_VECTORS];
            for (int v = 0; v < UNIT_VECTORS; ++v)
                wei[v] = values_of_words(wei_step(b, s->wei + n, filled) + k / 2 * WEI_ROW + (v0 + v) * 64,
                                         WEI_PART, SPLITS_WEI, shift);
            for (int i = 0; i < s->rows.lower + 16; ++i) {
                const float src = value_of_word(s->rows.src + n * s->step + i * s->rows.stride + k / 2 * 4,
                                                s->rows.part, SPLITS_SRC, shift);
                for (int v = 0; v < UNIT_VECTORS; ++v)
                    sum[i * UNIT_VECTORS + v] = fma((vec_f)src, wei[v], sum[i * UNIT_VECTORS + v]);
            }
        }
}

// Makes those of a unit's sums once more that are NaN. All of them are the sums of these steps alone.
static inline void correct_sums(const struct unit_steps *in_place, const struct unit_steps *copied,
                                struct b_panel b, int filled, int v0, __private panel_vec *sums) {
    const int vectors = (copied->rows.lower + 16) * UNIT_VECTORS;
    vec_i is_nan = 0;
    for (int i = 0; i < vectors; ++i)
        is_nan |= isnan(as_vec_f(sums[i]));
    if (!any(is_nan))
        return;
    vec_f again[ROWS * UNIT_VECTORS];
    for (int i = 0; i < vectors; ++i)
        again[i] = 0;
    add_values(in_place, b, filled, v0, again);
    add_values(copied, b, filled, v0, again);
    for (int i = 0; i < vectors; ++i)
        sums[i] = isnan(as_vec_f(sums[i])) ? as_vec_i(again[i]) : sums[i];
}

// Adds sums of a unit that were made apart to those of the tile, or begins these.
static inline void add_unit(__private const panel_vec *apart, bool begins, int rows, __private vec_i *sum) {
    for (int i = 0; i < rows; ++i)
        for (int v = 0; v < UNIT_VECTORS; ++v) {
            const vec_f unit = as_vec_f(apart[i * UNIT_VECTORS + v]);
            sum[i * NV + v] = as_vec_i(begins ? unit : as_vec_f(sum[i * NV + v]) + unit);
        }
}

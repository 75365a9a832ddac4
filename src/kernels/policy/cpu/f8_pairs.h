// SPDX-License-Identifier: Apache-2.0
// A few rows of floats by packed f8 weights, limited by reading the weights. 16 columns (8 with LANES 8)
// of four elements of K become f32 in four vectors, in the order in which that takes the fewest
// instructions: two elements of a column are neighbours, and have a sum each. The two sums are added up
// at the end of a block.
// - By tables, where the CPU can (policy/cpu/small_words.h).
// - Else as f16 (arithmetic/halves.h).
#pragma once

#include "arithmetic/halves.h"
#include "arithmetic/transpose.h"
#include "policy/cpu/float_panel.h"
#include "policy/cpu/float_src.h"
#include "policy/shared/prefetch.h"

#if LANES == 16
typedef ushort halves_vec __attribute__((ext_vector_type(32)));
typedef short signed_halves_vec __attribute__((ext_vector_type(32)));
DEFINE_HALVES_OF_F8(halves_vec, signed_halves_vec)
#define as_pairs(x) as_float16((long8)(x))
#define LOWER_HALF_OF(x) __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define UPPER_HALF_OF(x)                                                                                     \
    __builtin_shufflevector(x, x, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)
#define EVEN_OF(x, y) SHUFFLE(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_OF(x, y) SHUFFLE(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define EVEN_IN_LANES(x, y) EVEN_ELEMENTS(x, y)
#define ODD_IN_LANES(x, y) ODD_ELEMENTS(x, y)
#define VECTORS_AT_ONCE(count) ((count) <= 2 ? NV : 2) // their sums stay in registers
#else
typedef ushort16 halves_vec;
#define as_pairs(x) as_float8((long4)(x))
#define LOWER_HALF_OF(x) (x).lo
#define UPPER_HALF_OF(x) (x).hi
#define EVEN_OF(x, y) SHUFFLE(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_OF(x, y) SHUFFLE(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define EVEN_IN_LANES(x, y) (x) // no tables
#define ODD_IN_LANES(x, y) (y)
#define VECTORS_AT_ONCE(count) ((count) == 1 ? 4 : (count) == 2 ? 2 : 1)
#endif

// f16 as f32.
static inline vec_f halves_to_f32(column_us halves) {
    return halves_to_column_f(&halves);
}

// The quads of a vector of columns. value[0] has elements 0 and 2 of K of the first half of the columns,
// value[1] 1 and 3, value[2] and value[3] those of the second half.
static inline void values_in_pairs(vec_i quads, __private vec_f *value) {
    if (wei_in_tables()) {
        look_up_pairs(quads, value);
        return;
    }
    const halves_vec codes = __builtin_astype(quads, halves_vec);
    const halves_vec even = halves_of_f8(codes << (halves_vec)8, spec_wei_dt());
    const halves_vec odd = halves_of_f8(codes, spec_wei_dt());
    value[0] = halves_to_f32(LOWER_HALF_OF(even));
    value[1] = halves_to_f32(LOWER_HALF_OF(odd));
    value[2] = halves_to_f32(UPPER_HALF_OF(even));
    value[3] = halves_to_f32(UPPER_HALF_OF(odd));
#pragma unroll
    for (int i = 0; i < 4; ++i)
        value[i] *= factor_of_f8(spec_wei_dt());
}

// Adds up the two sums of each column.
static inline vec_f join_pairs(vec_f first, vec_f second) {
    return wei_in_tables() ? EVEN_IN_LANES(first, second) + ODD_IN_LANES(first, second)
                           : EVEN_OF(first, second) + ODD_OF(first, second);
}

// a: a row of src from element i on as f32, each four elements in the order 0, 2, 1, 3, with zeros up to
// a multiple of 16.
static __attribute__((noinline)) void load_row_in_pairs(bytes src, long i, long stride, int length,
                                                        __private float *a) {
    load_row(src, i, stride, length, a);
    for (int k = length; k % 16 != 0; ++k)
        a[k] = 0.f;
#pragma unroll 1
    for (int k = 0; k < length; k += 16) {
        const float16 x = vload16(0, a + k);
        vstore16(SHUFFLE(x, x, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15), 0, a + k);
    }
}

// sum[i * NV + v] += row i times column vector v of the block. a: rows as load_row_in_pairs() leaves
// them, TILE_K apart. Weights behind it may be NaN in a part of a tensor.
static inline __attribute__((always_inline)) void
multiply_pairs(const int count, __private const float *a, int length, bytes wei, __private vec_f *sum) {
    const int vectors = VECTORS_AT_ONCE(count);
#pragma unroll
    for (int first = 0; first < NV; first += vectors) {
        vec_f part[16];
#pragma unroll
        for (int i = 0; i < 2 * count * vectors; ++i)
            part[i] = (vec_f)0.f;
#pragma unroll 1
        for (int k = 0; k < length; k += 4) {
            const int kept = length - k < 4 ? (1 << 8 * (length - k)) - 1 : -1;
            // The next block follows this one in memory.
#pragma unroll
            for (int i = 0; i < (first == 0 ? 4 * PACKED_N : 0); i += 64)
                prefetch_line(wei + (length + k) * PACKED_N + i);
#pragma unroll
            for (int v = 0; v < vectors; ++v) {
                vec_f value[4];
                values_in_pairs(load_packed(wei, k * PACKED_N + (first + v) * LANES * 4) & (vec_i)kept,
                                value);
#pragma unroll
                for (int i = 0; i < count; ++i) {
                    __private const long *pairs = (__private const long *)(a + i * TILE_K + k);
                    __private vec_f *to = part + 2 * (i * vectors + v);
                    to[0] = fma(as_pairs(pairs[0]), value[0], to[0]);
                    to[1] = fma(as_pairs(pairs[0]), value[2], to[1]);
                    to[0] = fma(as_pairs(pairs[1]), value[1], to[0]);
                    to[1] = fma(as_pairs(pairs[1]), value[3], to[1]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int v = 0; v < vectors; ++v) {
                __private const vec_f *of = part + 2 * (i * vectors + v);
                sum[i * NV + first + v] += join_pairs(of[0], of[1]);
            }
    }
}

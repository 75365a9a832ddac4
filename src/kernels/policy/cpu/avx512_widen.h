// SPDX-License-Identifier: Apache-2.0
// A few rows of floats by packed weights of 8, 4 and 2 bits (AVX512F), limited by reading the weights.
// There is one instruction less for each 16 weights than in policy/cpu/fma.h, and often two:
// - 4 bits: vpermw looks 32 of them up in a table of halves of bf16, which has all values exactly. It takes
//   the low five bits of each element as the index, and the table has all values twice, so no bits are
//   masked. A word has an even column in its low half and the next one in its high half, and either is an
//   f32 after one more instruction.
//   Zero points leave the loop: sum s (w - zw) = sum s (w - c) - (zw - c) * sum s. The centre c of the
//   type keeps both terms as small as the products.
// - 2 bits: vpermilps looks 16 of them up, by the low two bits of each element, in a table of four f32. A
//   vector has each fourth column: sums get the order of columns at the end. Zero points as with 4 bits.
// - 8 bits with integer zero points: one vpternlogd puts a byte of a word into the mantissa of an f32.
//   Byte 0 becomes 2^23 + byte, and byte 1 becomes 2^15 + byte. One subtraction takes off this power of 2
//   and the zero point. It is exact.
// - 8 bits with float zero points or none: vpmovsxbd or vpmovzxbd loads four elements of K of four columns,
//   in the order of memory. Each is added to a sum of its own.
// - f8: policy/cpu/f8_pairs.h.
// f8 and f4 have no zero points here.
#pragma once

#include "owner/work_item.h"

#define WITH_TABLES
#define CAN_LOOK_UP (wei_bits() == 4 || spec_look_up())

#include "policy/cpu/bf16.h"
#include "policy/cpu/float_panel.h"
#include "policy/cpu/float_src.h"
#include "policy/cpu/small_words.h"
#include "policy/shared/all_columns.h"
#include "policy/shared/no_ahead.h"
#include "policy/shared/prefetch.h"

#include "arithmetic/transpose.h"
#include "policy/cpu/f8_pairs.h"

#if LANES != 16 || TILE_N != PACKED_N || ROWS != 4 || TILE_K % 16 != 0
#error "four rows, and the 64 columns of packed weights in vectors of 512 bits"
#endif

#define AHEAD_K 256 // elements of K between what is multiplied and what is prefetched
#define FEW_ROWS true
#define KEPT_K TILE_K
#define ANY_ROW_COUNT 1
#define SUM_FACTOR 1.f
#define WEI_SHIFT 0
typedef vec_i panel_vec;

// Of 8-bit weights, the zero points of a step.
#define PANEL_VECTORS (4 * NV)

// The weights of a block. wei: where they are in memory. panel: for bytes the zero points, in the order of
// the bytes of a step.
struct b_panel {
    bytes wei;
    __private const vec_i *panel;
    __private const vec_i *zero_points;
};

// Four elements of K of the 64 columns are a step.
static inline int step_bytes() {
    return 4 * PACKED_N * wei_bits() / 8;
}

// The number that is subtracted from a weight of 4 or 2 bits before it is multiplied.
static inline int wei_centre() {
    return HAS(FLAG_WEI_ZP) && wei_bits() < 8 && !wei_is_signed() ? 1 << (wei_bits() - 1) : 0;
}

// Whether zero points are multiplied with the sum of a row of src, beside the products of weights: those of 4
// and 2 bits, and of bytes those that offsets became.
static inline bool sums_rows() {
    return (wei_is_small_int() && HAS(FLAG_WEI_ZP)) || (wei_bits() == 8 && HAS(FLAG_OFFSETS));
}

// Integers less zero points of the weights, which are floats or integers.
static inline vec_f less_zero_point(vec_i x, vec_i zp) {
    return HAS(FLAG_FLOAT_ZP) ? to_vec_f(x) - as_vec_f(zp) : to_vec_f(x - zp);
}

// The zero points of 16 columns, each for four elements of K.
static inline void spread_zero_points(vec_i zp, __private vec_i *to) {
    to[0] = SHUFFLE(zp, zp, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    to[1] = SHUFFLE(zp, zp, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    to[2] = SHUFFLE(zp, zp, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11);
    to[3] = SHUFFLE(zp, zp, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15);
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const long first = block_begin(w, p, k0);
    const struct b_panel b = {w->wei + first * wei_bits() / 8, panel, wei_zp};
    if (wei_bits() == 8 && HAS(FLAG_FLOAT_ZP) && !sums_rows())
        for (int v = 0; v < NV; ++v)
            spread_zero_points(wei_zp[v], panel + 4 * v);
    return b;
}

// Prefetches a step of weights that is AHEAD_K elements of K behind step s.
static inline void prefetch_step(struct b_panel b, int s) {
#pragma unroll
    for (int i = 0; i < step_bytes(); i += 64)
        prefetch_line(b.wei + (AHEAD_K / 4 + s) * step_bytes() + i);
}

static inline void prefetch_a(bytes src, __private const long *rows, int count, long k0, int length) {}
static inline void prefetch_b(struct b_panel b, int length, int part, int parts) {}
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

// ---- 4 bits. In a vector of a step, each element has four of K of an even column in its low half,
// and those of the next column in its high half.

// The values as halves of bf16, twice.
static inline ushort32 four_bit_values() {
    const vec_i numbers = (vec_i)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const vec_f values = wei_is_small_float()
                             ? values_of_codes(numbers)
                             : to_vec_f(spec_wei_dt() == DT_S4 ? (numbers ^ 8) - 8 : numbers - wei_centre());
    const ushort16 halves = convert_ushort16(as_uint16(values) >> 16);
    return CONCATENATED16(halves, halves);
}

static inline __attribute__((always_inline)) void
multiply_int4(const int count, __private const float *a, int length, struct b_panel b, __private vec_f *sum) {
    // The sums of [row][vector][even and odd columns], the elements of K with even and odd numbers
    // apart, for a row alone would wait for its own sums.
    vec_f part[ROWS * 4][2];
    const int parts = count == 1 ? 2 : 1;
    const ushort32 table = four_bit_values();
#pragma unroll
    for (int i = 0; i < count * 4; ++i)
        part[i][0] = part[i][1] = (vec_f)0.f;
#pragma unroll 1
    for (int s = 0; s < (length + 3) / 4; ++s) {
        prefetch_step(b, s);
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const vec_i loaded = vload16(v, (global const int *)(b.wei + s * step_bytes()));
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const ushort32 index = __builtin_astype(loaded >> 4 * k, ushort32);
                const vec_i words = __builtin_astype(vpermw(table, index), vec_i);
                const vec_f even = first_of_words(words), odd = second_of_words(words);
#pragma unroll
                for (int i = 0; i < count; ++i) {
                    const vec_f src = (vec_f)a[i * TILE_K + 4 * s + k];
                    const int part_of_k = parts == 2 ? k % 2 : 0;
                    part[i * 4 + v * 2][part_of_k] = fma(src, even, part[i * 4 + v * 2][part_of_k]);
                    part[i * 4 + v * 2 + 1][part_of_k] = fma(src, odd, part[i * 4 + v * 2 + 1][part_of_k]);
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < count * 2; ++i) {
        const vec_f even = part[2 * i][0] + (parts == 2 ? part[2 * i][1] : (vec_f)0.f);
        const vec_f odd = part[2 * i + 1][0] + (parts == 2 ? part[2 * i + 1][1] : (vec_f)0.f);
        sum[2 * i] += LOWER_HALVES(even, odd);
        sum[2 * i + 1] += UPPER_HALVES(even, odd);
    }
}

// ---- 2 bits. In the vector of a step, each element has four columns, of whose elements of the same k the
// parts of a byte are.

vec_f __attribute__((overloadable))
vpermilps(vec_f table, vec_i index) __asm("llvm.x86.avx512.vpermilvar.ps.512");

static inline __attribute__((always_inline)) void
multiply_int2(const int count, __private const float *a, int length, struct b_panel b, __private vec_f *sum) {
    // The sums of [row][columns], the elements of K with even and odd numbers apart for a row alone.
    vec_f part[ROWS * 4][2];
    const int parts = count == 1 ? 2 : 1;
    const float4 values = (float4)(0.f, 1.f, 2.f, 3.f) - (float)wei_centre();
    const vec_f table = (vec_f)(values, values, values, values);
#pragma unroll
    for (int i = 0; i < count * 4; ++i)
        part[i][0] = part[i][1] = (vec_f)0.f;
#pragma unroll 1
    for (int s = 0; s < (length + 3) / 4; ++s) {
        prefetch_step(b, s);
        const vec_i loaded = vload16(0, (global const int *)(b.wei + s * step_bytes()));
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const vec_f wei = vpermilps(table, loaded >> (8 * k + 2 * v));
#pragma unroll
                for (int i = 0; i < count; ++i) {
                    __private vec_f *to = &part[i * 4 + v][parts == 2 ? k % 2 : 0];
                    *to = fma((vec_f)a[i * TILE_K + 4 * s + k], wei, *to);
                }
            }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
        vec_f columns[4];
#pragma unroll
        for (int v = 0; v < 4; ++v)
            columns[v] = part[i * 4 + v][0] + (parts == 2 ? part[i * 4 + v][1] : (vec_f)0.f);
        interleave_fours(columns);
#pragma unroll
        for (int v = 0; v < 4; ++v)
            sum[i * 4 + v] += columns[v];
    }
}

// ---- 8 bits, with integer zero points

static inline bool has_integer_zero_points() {
    return HAS(FLAG_WEI_ZP) && !HAS(FLAG_FLOAT_ZP);
}

// The words of four elements of K of 16 columns: elements `first` and `first` + 1 as f32, with 2^23 and 2^15
// added and, if they are signed, 128.
static inline void add_powers(vec_i words, int first, __private vec_f *value) {
    const vec_i pair = first == 0 ? words : as_vec_i(as_uint16(words) >> 16);
    const int sign = spec_wei_dt() == DT_S8 ? 0x80 : 0;
    value[0] = as_vec_f((pair & 0xff) ^ (0x4b000000 | sign));
    value[1] = as_vec_f((pair & 0xff00) ^ (0x47000000 | sign << 8));
}

// Whether the sums of zero points and these powers of 2 are exact.
static inline bool zero_points_are_near(__private const vec_i *zp) {
    const int most = 1 << 22;
    vec_i far = (vec_i)0;
    for (int v = 0; v < NV; ++v)
        far |= (zp[v] > most) | (zp[v] < -most);
    return !any(far);
}

static inline __attribute__((always_inline)) void multiply_bytes(const int count, __private const float *a,
                                                                 int length, struct b_panel b,
                                                                 __private vec_f *sum) {
    // The sums of [row][vector], the elements of K with even and odd numbers apart.
    vec_f part[ROWS * NV][2], zero[NV][2];
#pragma unroll
    for (int i = 0; i < count * NV; ++i)
        part[i][0] = part[i][1] = (vec_f)0.f;
#pragma unroll
    for (int v = 0; v < NV; ++v) {
        const vec_f zp = to_vec_f(b.zero_points[v]);
        const float centre = spec_wei_dt() == DT_S8 ? 128.f : 0.f;
        zero[v][0] = zp + (vec_f)(0x1p23f + centre);
        zero[v][1] = zp + (vec_f)(0x1p15f + centre);
    }
#pragma unroll 1
    for (int s = 0; s < (length + 3) / 4; ++s) {
        prefetch_step(b, s);
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            const vec_i words = load_packed(b.wei + s * step_bytes(), v * LANES * 4);
#pragma unroll
            for (int k = 0; k < 4; k += 2) {
                vec_f wei[2];
                add_powers(words, k, wei);
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    const vec_f value = wei[j] - zero[v][j];
#pragma unroll
                    for (int i = 0; i < count; ++i)
                        part[i * NV + v][j] =
                            fma((vec_f)a[i * TILE_K + 4 * s + k + j], value, part[i * NV + v][j]);
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < count * NV; ++i)
        sum[i] += part[i][0] + part[i][1];
}

// ---- 8 bits, with float zero points, offsets or none

// Four elements of K of four columns: the bytes 16 * i and up of a step, less their zero points.
static inline vec_f load_fours(struct b_panel b, int s, int i) {
    const uchar16 fours = vload16(i, b.wei + s * step_bytes());
    const vec_i wei = spec_wei_dt() == DT_S8 ? convert_int16(as_char16(fours)) : convert_int16(fours);
    return HAS(FLAG_WEI_ZP) && !sums_rows() ? less_zero_point(wei, b.panel[i]) : to_vec_f(wei);
}

// Adds up each four neighbours of four vectors.
static inline vec_f add_fours(__private const vec_f *x) {
    const vec_f a = EVEN_ELEMENTS(x[0], x[1]) + ODD_ELEMENTS(x[0], x[1]);
    const vec_f b = EVEN_ELEMENTS(x[2], x[3]) + ODD_ELEMENTS(x[2], x[3]);
    const vec_f fours = EVEN_ELEMENTS(a, b) + ODD_ELEMENTS(a, b);
    return SHUFFLE(fours, fours, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

static inline __attribute__((always_inline)) void
multiply_int8(const int count, __private const float *a, int length, struct b_panel b, __private vec_f *sum) {
    const int fours = count == 1 ? 16 : count == 2 ? 8 : 4; // vectors of a step at once
#pragma unroll
    for (int first = 0; first < 16; first += fours) {
        vec_f part[16];
#pragma unroll
        for (int i = 0; i < count * fours; ++i)
            part[i] = (vec_f)0.f;
#pragma unroll 1
        for (int s = 0; s < (length + 3) / 4; ++s) {
            if (first == 0)
                prefetch_step(b, s);
            vec_f src[ROWS];
#pragma unroll
            for (int i = 0; i < count; ++i) {
                const float4 four = vload4(s, a + i * TILE_K);
                src[i] = (vec_f)(four, four, four, four);
            }
#pragma unroll
            for (int v = 0; v < fours; ++v) {
                const vec_f wei = load_fours(b, s, first + v);
#pragma unroll
                for (int i = 0; i < count; ++i)
                    part[i * fours + v] = fma(src[i], wei, part[i * fours + v]);
            }
        }
#pragma unroll
        for (int i = 0; i < count; ++i)
#pragma unroll
            for (int v = 0; v < fours; v += 4)
                sum[i * NV + (first + v) / 4] += add_fours(part + i * fours + v);
    }
}

// ---- Zero points of 4 and 2 bits, and any type

// The sum of a row of src, which has zeros up to a multiple of 16.
static inline float sum_of_row(__private const float *a, int length) {
    float16 sum = 0.f;
#pragma unroll 1
    for (int k = 0; k < length; k += 16)
        sum += vload16(0, a + k);
    const float8 eight = sum.lo + sum.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    return two.x + two.y;
}

// The products one by one, each weight less its zero point: where src is infinite or not a number,
// and where its sum overflows.
static __attribute__((noinline)) void multiply_apart(int count, __private const float *a, int length,
                                                     struct b_panel b, __private vec_f *sum) {
#pragma unroll 1
    for (int k = 0; k < length; ++k)
#pragma unroll 1
        for (int i = 0; i < count * NV; ++i) {
            const long at = (long)(k & ~3) * PACKED_N + i % NV * LANES * 4;
            const vec_i wei = of_quads(load_packed(b.wei, at), k & 3);
            sum[i] = fma((vec_f)a[i / NV * TILE_K + k], less_zero_point(wei, b.zero_points[i % NV]), sum[i]);
        }
}

// sum[i * NV + v] += row i of the group times column vector v of the weights.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *unused,
                                                           __private vec_f *sum) {
    const long stride = group->p->src.column;
    float a[ROWS * TILE_K], total[ROWS];
    bool is_finite = true;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        __private float *row = a + i * TILE_K;
        const long begin = group->rows->src[group->i0 + i] + group->k0 * stride;
        if (wei_is_f8()) {
            load_row_in_pairs(group->src, begin, stride, length, row);
            continue;
        }
        load_row(group->src, begin, stride, length, row);
        for (int k = length; k % 16 != 0; ++k)
            row[k] = 0.f;
        if (sums_rows()) {
            total[i] = sum_of_row(row, length);
            is_finite &= isfinite(total[i]) != 0;
        }
    }
    if (wei_is_f8()) {
        multiply_pairs(count, a, length, b.wei, sum);
        return;
    }
    if (wei_bits() == 8 && !has_integer_zero_points() && !sums_rows()) {
        multiply_int8(count, a, length, b, sum);
        return;
    }
    if (wei_bits() == 8 && !sums_rows() && zero_points_are_near(b.zero_points)) {
        multiply_bytes(count, a, length, b, sum);
        return;
    }
    if ((wei_bits() == 8 && !sums_rows()) || !is_finite) {
        multiply_apart(count, a, length, b, sum);
        return;
    }
    if (wei_bits() == 8)
        multiply_int8(count, a, length, b, sum);
    else if (wei_bits() == 4)
        multiply_int4(count, a, length, b, sum);
    else
        multiply_int2(count, a, length, b, sum);
    if (sums_rows())
#pragma unroll
        for (int i = 0; i < count * NV; ++i)
            sum[i] += less_zero_point((vec_i)wei_centre(), b.zero_points[i % NV]) * (vec_f)total[i / NV];
}

#include "policy/cpu/widen_few_rows.h"

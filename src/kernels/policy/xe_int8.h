// SPDX-License-Identifier: Apache-2.0
// Intel GPUs with XMX, sub-groups of 16: bytes of src with bytes or 4-bit weights by DPAS, as they are in
// memory. A block's weights stay in registers while groups of eight rows of src are multiplied with them.
// Builtins of DPAS: cl_intel_subgroup_matrix_multiply_accumulate.
#pragma once

#include "policy/packed.h"
#include "policy/xe_2d.h"
#include "rows.h"

#if LANES != 16 || ROWS != 8
#error "a DPAS of 16 lanes has 8 rows"
#endif

#define BLOCK_K spec_block_k()
#define ANY_ROW_COUNT 0
#define WEI_SHIFT 0
#define STEP_K 32               // elements of K of one DPAS
#define STEPS (TILE_K / STEP_K) // of a block, at most

// The weights of a DPAS: this lane's column, four of K in each int. 4-bit weights use the first four ints.
typedef int8 panel_vec;
#define PANEL_VECTORS (STEPS * NV)

struct b_panel {
    __private const panel_vec *steps; // [step][v]
};

// Which steps a block has: the loops over them are unrolled, and sums never leave their registers.
static inline bool has_step(int s) {
    return s * STEP_K < spec_block_k();
}

// ---- DPAS

#define DECLARE_DPAS(a, b, a_type, b_type)                                                                   \
    int8 __attribute__((overloadable))                                                                       \
    intel_sub_group_##a##_##b##_matrix_mad_k32(a_type##8 src, b_type wei, int8 sum);
DECLARE_DPAS(i8, i8, short, int8)
DECLARE_DPAS(i8, u8, short, uint8)
DECLARE_DPAS(i8, i4, short, int4)
DECLARE_DPAS(i8, u4, short, uint4)
DECLARE_DPAS(u8, i8, ushort, int8)
DECLARE_DPAS(u8, u8, ushort, uint8)
DECLARE_DPAS(u8, i4, ushort, int4)
DECLARE_DPAS(u8, u4, ushort, uint4)

int __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(short src, int8 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_u8_matrix_mad_k32(short src, uint8 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_i4_matrix_mad_k32(short src, int4 wei, int sum);
int __attribute__((overloadable)) intel_sub_group_i8_u4_matrix_mad_k32(short src, uint4 wei, int sum);

#define DPAS_OF(a, src, wei, sum)                                                                            \
    switch (spec_wei_dt()) {                                                                                 \
    case DT_S8:                                                                                              \
        return intel_sub_group_##a##_i8_matrix_mad_k32(src, wei, sum);                                       \
    case DT_U8:                                                                                              \
        return intel_sub_group_##a##_u8_matrix_mad_k32(src, as_uint8(wei), sum);                             \
    case DT_S4:                                                                                              \
        return intel_sub_group_##a##_i4_matrix_mad_k32(src, (wei).lo, sum);                                  \
    default:                                                                                                 \
        return intel_sub_group_##a##_u4_matrix_mad_k32(src, as_uint8(wei).lo, sum);                          \
    }

static inline int8 dpas(ushort8 src, int8 wei, int8 sum) {
    if (spec_src_dt() == DT_S8)
        DPAS_OF(i8, as_short8(src), wei, sum)
    DPAS_OF(u8, src, wei, sum)
}

// Sums of the weights of each column: one row of ones.
static inline int dpas_ones(int8 wei, int sum) {
    DPAS_OF(i8, (short)0x0101, wei, sum)
}

// ---- src

// Any strides, element by element: this lane's pair of K from k on, of eight rows from `row` on. A function
// of its own, as everything for tensors that the hardware's loads cannot read: it is needed once for each
// step.
static __attribute__((noinline)) ushort8 gather_rows(bytes src, global const struct matmul_problem *p,
                                                     long begin, long row, int k) {
    ushort pairs[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        bytes first = src + begin + min(row + i, p->rows - 1) * p->src.row + k * p->src.column;
        pairs[i] = (ushort)((k < p->k ? first[0] : 0) | (k + 1 < p->k ? first[p->src.column] : 0) << 8);
    }
    return vload8(0, pairs);
}

// Rows row.. + 7: a[s][i] is this lane's pair of K of row i.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int row, long k0, __private ushort8 *a) {
    if (!HAS(FLAG_SRC_2D)) {
        const int lane = get_sub_group_local_id();
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, row, (int)k0 + s * STEP_K + 2 * lane);
        return;
    }
    const struct surface m = make_surface(src + rows->src, p->k, p->rows, p->src.row);
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        const int2 at = (int2)(m.x0 + (int)k0 + s * STEP_K, row);
        if (has_step(s + 1)) {
            const ushort16 two = READ_2D(u8_m8k32v2, m, at);
            a[s] = two.lo;
            a[s + 1] = two.hi;
        } else if (has_step(s)) {
            a[s] = READ_2D(u8_m8k32v1, m, at);
        }
    }
}

// ---- weights

// Panels of 64 columns: a row of a panel has four of K of each column.
static inline void read_packed(bytes wei, global const struct matmul_problem *p, long begin, long n0, long k0,
                               __private panel_vec *to) {
    const int nibbles = wei_is_int4();
    const struct surface m =
        make_surface(wei + ((begin + n0 / PACKED_N * p->wei_panel) >> nibbles), PACKED_N * 4 >> nibbles,
                     p->wei_panel / (PACKED_N * 4), PACKED_N * 4 >> nibbles);
    const int column = (int)(n0 % PACKED_N), row = (int)(k0 / 4);
#pragma unroll
    for (int v = 0; v < NV; ++v)
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
            if (!has_step(s))
                continue;
            const int y = row + s * STEP_K / 4, x = column + v * LANES;
            if (!nibbles) {
                to[s * NV + v] = as_int8(READ_2D(u32_m8k16v1, m, (int2)(m.x0 / 4 + x, y)));
            } else if (s % 2 == 0) {
                // Two rows of halves make an int: eight of K.
                const int8 two = as_int8(READ_2D(transform_u16_k16, m, (int2)(m.x0 / 2 + x, y)));
                to[s * NV + v] = (int8)(two.lo, (int4)0);
                if (s + 1 < STEPS)
                    to[(s + 1) * NV + v] = (int8)(two.hi, (int4)0);
            }
        }
}

// Weights with stride 1 along the columns (tag ab), 8 bits.
static inline void read_rows(bytes wei, global const struct matmul_problem *p, long begin, long n0, long k0,
                             __private panel_vec *to) {
    const struct surface m = make_surface(wei + begin, p->n, p->k, p->wei.row);
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                to[s * NV + v] = as_int8(
                    READ_2D(transform_u8_k32, m, (int2)(m.x0 + (int)n0 + v * LANES, (int)k0 + s * STEP_K)));
}

// Weights with stride 1 along K (tag ba): ints of four or, 4-bit, eight of K.
static inline void read_columns(bytes wei, global const struct matmul_problem *p, long begin, long n0,
                                long k0, __private panel_vec *to) {
    const int nibbles = wei_is_int4();
    const struct surface m =
        make_surface(wei + (begin >> nibbles), p->k >> nibbles, p->n, p->wei.column >> nibbles);
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                to[s * NV + v] = as_int8(
                    READ_2D(transpose_u32_k8, m,
                            (int2)((m.x0 + (((int)k0 + s * STEP_K) >> nibbles)) / 4, (int)n0 + v * LANES)));
}

// Any strides: the weights of a DPAS of the column that begins at `column`, from k on.
static __attribute__((noinline)) int8 gather_column(bytes wei, global const struct matmul_problem *p,
                                                    long column, long k) {
    const int bits = wei_is_int4() ? 4 : 8;
    int words[8];
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
        words[j] = 0;
#pragma unroll 1
        for (int i = 0; i < 32 && j * 32 / bits < STEP_K; i += bits, ++k)
            if (k < p->k)
                words[j] |= (load_int(wei, spec_wei_dt(), column + k * p->wei.row) & ((1 << bits) - 1)) << i;
    }
    return vload8(0, words);
}

static inline void gather_columns(bytes wei, global const struct matmul_problem *p, long begin, long n0,
                                  long k0, __private panel_vec *to) {
    const int lane = get_sub_group_local_id();
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                to[s * NV + v] = gather_column(
                    wei, p, begin + min(n0 + v * LANES + lane, p->n - 1) * p->wei.column, k0 + s * STEP_K);
}

static inline struct b_panel load_b(bytes wei, global const struct matmul_problem *p, long begin, long n0,
                                    long k0, int length, int columns, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const long tile_n0 = n0 - get_sub_group_local_id();
    const struct b_panel b = {panel};
    if (spec_wei_unit() == UNIT_PACKED)
        read_packed(wei, p, begin, tile_n0, k0, panel);
    else if (HAS(FLAG_WEI_2D) && spec_wei_unit() == UNIT_COLUMN)
        read_rows(wei, p, begin, tile_n0, k0, panel);
    else if (HAS(FLAG_WEI_2D))
        read_columns(wei, p, begin, tile_n0, k0, panel);
    else
        gather_columns(wei, p, begin, tile_n0, k0, panel);
    return b;
}

// sum[v] += the weights of the panel, column by column.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[v] = dpas_ones(b.steps[s * NV + v], sum[v]);
}

// sum[v] += rows i0.. of the tile times the panel.
static inline __attribute__((always_inline)) void multiply(const int count, bytes src,
                                                           global const struct matmul_problem *p,
                                                           __private const struct tile_rows *rows, int i0,
                                                           long k0, int length, struct b_panel b,
                                                           __private vec_i *sum, __private vec_f *unused) {
    ushort8 a[STEPS + STEPS % 2];
    load_a(src, p, rows, rows->first + i0, k0, a);
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[v] = dpas(a[s], b.steps[s * NV + v], sum[v]);
}

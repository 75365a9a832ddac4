// SPDX-License-Identifier: Apache-2.0
// f32 that is converted to bf16 between its load and DPAS, for sub-groups of 8. In a step of src,
// the two elements of K that a lane has are LANES apart, because block loads give each lane every
// LANES-th element. The pairs of the weights are made of the same elements.
#pragma once

#include "policy/xe/xe_1d.h"

#if LANES != 8
#error "wider DPAS multiplies f32 as tf32"
#elif TILE_K != 32
#error "integers are widened 32 of K at once, and f32 weights that are split have half of that"
#endif

ushort2 __attribute__((overloadable)) intel_convert_bfloat162_as_ushort2(float2 x);

// With FLAG_SPLIT a value is split into two bf16: its upper half, and the rest, rounded. The
// product of two rests is left out: it is less than 2^-14 of the product.
#define SPLITS_F32 true

// The upper 16 bits of x, limited to the largest finite bf16. Both parts have the sign of x, so an
// infinite product is never added to one of the opposite sign.
static inline uint upper_half(float x) {
    const float largest = 0x1.fep127f;
    return as_uint(clamp(x, -largest, largest)) & 0xffff0000;
}

// A pair of values as two bf16 in an int, and the pair of their rests.
static inline int round_to_bf16(float low, float high) {
    return as_int(intel_convert_bfloat162_as_ushort2((float2)(low, high)));
}
static inline int narrow(float low, float high) {
    return HAS(FLAG_SPLIT) ? (int)(upper_half(low) >> 16 | upper_half(high)) : round_to_bf16(low, high);
}
static inline int narrow_rest(float low, float high) {
    return round_to_bf16(low - as_float(upper_half(low)), high - as_float(upper_half(high)));
}

// Unrolled by hand. Components of a vector are named, not indexed: an index in a loop would move
// the vector from registers to memory.
#define FOR_EIGHT(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)

// Pairs of 16 elements of K of this lane's column: x has eight, y the next eight.
#define EIGHT_PAIRS(of, x, y)                                                                                \
    (int8)(of((x).s0, (y).s0), of((x).s1, (y).s1), of((x).s2, (y).s2), of((x).s3, (y).s3),                   \
           of((x).s4, (y).s4), of((x).s5, (y).s5), of((x).s6, (y).s6), of((x).s7, (y).s7))

// A step of packed weights and its rest. Each pair of rows is converted as soon as it is read,
// because there are no registers to keep rows. Rows behind the last one of the weights are 0.
static inline void split_packed(const struct wei_source *w, int k, __private int8 *step,
                                __private int8 *rest) {
    union row {
        COLUMNS_OF(uint) all;
        float each[NV];
    };
    int8 taken[NV], left[NV];
#define ROW_AT(k)                                                                                            \
    READ_ROW(, (global const uint *)(w->wei + (w->panel + (uint)(k)*PACKED_N * (uint)sizeof(float))))
#define THERE(k, x) (!HAS(FLAG_PANEL_TAIL) || (k) < w->height ? (x) : 0.f)
#define PAIR(j)                                                                                              \
    {                                                                                                        \
        const union row low = {ROW_AT(k + j)}, high = {ROW_AT(k + LANES + j)};                               \
        _Pragma("unroll") for (int v = 0; v < NV; ++v) {                                                     \
            const float x = THERE(k + j, low.each[v]), y = THERE(k + LANES + j, high.each[v]);               \
            taken[v].s##j = narrow(x, y);                                                                    \
            left[v].s##j = narrow_rest(x, y);                                                                \
        }                                                                                                    \
    }
    FOR_EIGHT(PAIR)
#pragma unroll
    for (int v = 0; v < NV; ++v) {
        step[v] = taken[v];
        rest[v] = left[v];
    }
}

// step[v]: a step of the lane's column v, from element k on. rest[v]: its rest, with
// FLAG_SPLIT.
static inline void read_narrowed(const struct wei_source *w, global const struct matmul_problem *p, int k,
                                 __private int8 *step, __private int8 *rest) {
    if (HAS(FLAG_SPLIT) && spec_wei_unit() == UNIT_PACKED) {
        split_packed(w, k, step, rest);
        return;
    }
    int8 first[NV], second[NV];
    read_steps(w, p, k, true, first, second);
#pragma unroll
    for (int v = 0; v < NV; ++v) {
        step[v] = EIGHT_PAIRS(narrow, as_float8(first[v]), as_float8(second[v]));
        if (HAS(FLAG_SPLIT))
            rest[v] = EIGHT_PAIRS(narrow_rest, as_float8(first[v]), as_float8(second[v]));
    }
}

// This lane's part of a step of eight rows, or of their rest, for src with any strides and for a K
// that ends inside the step. begin: element offset of the matrix; k: the step's first element.
static __attribute__((noinline)) uint8 gather_narrowed(bytes src, global const struct matmul_problem *p,
                                                       long begin, int row, int k, bool rest) {
    uint values[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        float pair[2] = {0.f, 0.f};
#pragma unroll 1
        for (int j = 0; j < 2; ++j) {
            const int at = k + (int)get_sub_group_local_id() + j * LANES;
            if (at < p->k)
                pair[j] =
                    ((global const float *)
                         src)[begin + min((long)row + i, p->rows - 1) * p->src.row + at * p->src.column];
        }
        values[i] = as_uint(rest ? narrow_rest(pair[0], pair[1]) : narrow(pair[0], pair[1]));
    }
    return vload8(0, values);
}

// load_a for f32 src.
static inline void load_narrowed(bytes src, global const struct matmul_problem *p,
                                 __private const struct tile_rows *rows, int i0, long k0,
                                 __private a_rows *a) {
    if (spec_src_load() != SRC_LOAD_1D || !is_whole(p, k0, spec_panel_k())) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s)) {
                const int row = rows->first + i0, k = (int)k0 + s * STEP_K;
                a[s] = gather_narrowed(src, p, rows->src, row, k, false);
                if (HAS(FLAG_SPLIT))
                    a[STEPS + s] = gather_narrowed(src, p, rows->src, row, k, true);
            }
        return;
    }
    a_rows taken[STEPS], left[STEPS];
// Row i. Block loads need an address that is the same in all lanes.
#define LOAD_ROW(i)                                                                                          \
    {                                                                                                        \
        const long row = sub_group_broadcast(rows->at[i0 / LANES], i);                                       \
        global const uint *at = (global const uint *)(src + row) + k0;                                       \
        _Pragma("unroll") for (int s = 0; s < STEPS; ++s) if (has_step(s)) {                                 \
            const float2 two = as_float2(intel_sub_group_block_read2(at + s * STEP_K));                      \
            taken[s].s##i = as_uint(narrow(two.s0, two.s1));                                                 \
            left[s].s##i = as_uint(narrow_rest(two.s0, two.s1));                                             \
        }                                                                                                    \
    }
    FOR_EIGHT(LOAD_ROW)
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        a[s] = taken[s];
        if (HAS(FLAG_SPLIT))
            a[STEPS + s] = left[s];
    }
}

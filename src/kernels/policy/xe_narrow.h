// SPDX-License-Identifier: Apache-2.0
// f32 that becomes bf16 on its way from memory to DPAS, for sub-groups of 8. With integer weights a lane
// takes two neighbours of K, as of src that is bf16. With f32 weights the two of K that a lane takes of a
// step of src are LANES apart, as block loads deal them, and so are those of the weights side by side.
#pragma once

#include "policy/xe_loads.h"

#if LANES != 8
#error "wider DPAS multiplies f32 as tf32"
#endif

ushort2 __attribute__((overloadable)) intel_convert_bfloat162_as_ushort2(float2 x);

// The first of K that this lane takes of a step, and how far the second is.
static inline int lane_k() {
    return wei_is_integer() ? 2 * (int)get_sub_group_local_id() : (int)get_sub_group_local_id();
}
static inline int pair_k() {
    return wei_is_integer() ? 1 : LANES;
}

static inline int narrow(float low, float high) {
    return as_int(intel_convert_bfloat162_as_ushort2((float2)(low, high)));
}

// Sixteen of K of this lane's column: eight, and the next eight.
static inline int8 narrow_step(int8 first, int8 second) {
    const float8 low = as_float8(first), high = as_float8(second);
    return (int8)(narrow(low.s0, high.s0), narrow(low.s1, high.s1), narrow(low.s2, high.s2),
                  narrow(low.s3, high.s3), narrow(low.s4, high.s4), narrow(low.s5, high.s5),
                  narrow(low.s6, high.s6), narrow(low.s7, high.s7));
}

// Any strides, and K that ends inside the step from element k on: what this lane has of eight rows.
static __attribute__((noinline)) uint8 gather_narrowed(bytes src, global const struct matmul_problem *p,
                                                       long begin, int row, int k) {
    uint values[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        float pair[2] = {0.f, 0.f};
#pragma unroll 1
        for (int j = 0; j < 2; ++j) {
            const int at = k + lane_k() + j * pair_k();
            if (at < p->k)
                pair[j] =
                    ((global const float *)
                         src)[begin + min((long)row + i, p->rows - 1) * p->src.row + at * p->src.column];
        }
        values[i] = as_uint(narrow(pair[0], pair[1]));
    }
    return vload8(0, values);
}

// As load_a, for src that is f32.
static inline void load_narrowed(bytes src, global const struct matmul_problem *p,
                                 __private const struct tile_rows *rows, int i0, long k0,
                                 __private a_rows *a) {
    if (!HAS(FLAG_SRC_1D) || !is_whole(p, k0, spec_panel_k())) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_narrowed(src, p, rows->src, rows->first + i0, (int)k0 + s * STEP_K);
        return;
    }
    uint words[STEPS][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        // The same in all lanes, as block loads want it.
        const long row = sub_group_broadcast(rows->at[i0 / LANES], i);
        global const uint *at = (global const uint *)(src + row) + k0;
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s)) {
                const float2 two = wei_is_integer() ? as_float2(vload2(0, at + s * STEP_K + lane_k()))
                                                    : as_float2(intel_sub_group_block_read2(at + s * STEP_K));
                words[s][i] = as_uint(narrow(two.s0, two.s1));
            }
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        a[s] = eight_rows(words[s]);
}

// SPDX-License-Identifier: Apache-2.0
// Any Intel GPU: float src with float or integer weights, multiplied as f32. src of f8 and f4 becomes f16
// first (arrange_src.cl). Each lane has its columns of the panel as f32, minus their zero points. src is
// read by block loads, one element a lane, and broadcast.
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#include "policy/shared/all_columns.h"
#include "policy/xe/xe.h"
#include "policy/xe/xe_fma_loads.h"

#define SUM_FACTOR 1.f

// The panel of this lane's columns: [TILE_K][NV].
typedef float panel_vec;
#define PANEL_VECTORS (TILE_K * NV)

struct b_panel {
    __private const float *panel; // [k][v]
};

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private float *panel) {
    if (spec_wei_unit() == UNIT_PACKED)
        read_packed(w, p, (int)k0, panel);
    else
        gather_columns(w, p, (int)k0, panel);
    if (HAS(FLAG_WEI_ZP))
#pragma unroll
        for (int i = 0; i < PANEL_VECTORS; ++i)
            panel[i] -= zero_points_as_f32(wei_zp[i % NV]);
    return (struct b_panel){panel};
}

// Only policies of integers need sums of weights.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

// sum[v] += the eight rows of the group times column v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *unused,
                                                           __private vec_f *sum) {
    float8 a[PARTS];
    load_a(group->src, group->p, group->rows, group->i0, group->k0, a);
#define ROW(i) fma(sub_group_broadcast(a[k / LANES].s##i, k % LANES), b.panel[k * NV + v], sum[v].s##i)
#pragma unroll
    for (int k = 0; k < TILE_K; ++k)
#pragma unroll
        for (int v = 0; v < NV; ++v)
            sum[v] = (float8)(ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7));
}

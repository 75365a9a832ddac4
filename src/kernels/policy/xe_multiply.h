// SPDX-License-Identifier: Apache-2.0
// What Xe policies share above their loads: a block's weights stay in registers while groups of eight rows of
// src are multiplied with them. A policy defines dpas(), as SUMS which of the nest's sums it adds to, and as
// LOAD_A what loads rows of src.
#pragma once

#include "policy/xe_loads.h"

#if ROWS != 8
#error "a DPAS has 8 rows"
#endif

#define BLOCK_K spec_block_k()
#define ANY_ROW_COUNT 0
#define WEI_SHIFT 0

// A step of this lane's column: elements of K side by side in each int.
typedef int8 panel_vec;
#define PANEL_VECTORS (STEPS * NV)

struct b_panel {
    __private const panel_vec *steps; // [step][v]
};

// Weights that DPAS takes as they are in memory.
static inline struct b_panel load_steps(const struct wei_source *w, global const struct matmul_problem *p,
                                        int k0, __private panel_vec *panel) {
#pragma unroll
    for (int s = 0; s < STEPS; s += 2)
        if (has_step(s))
            read_steps(w, p, k0 + s * STEP_K, has_step(s + 1), &panel[s * NV], &panel[(s + 1) * NV]);
    return (struct b_panel){panel};
}

// isum[v] or fsum[v] += rows i0.. of the tile times the panel.
static inline __attribute__((always_inline)) void multiply(const int count, bytes src,
                                                           global const struct matmul_problem *p,
                                                           __private const struct tile_rows *rows, int i0,
                                                           long k0, int length, struct b_panel b,
                                                           __private vec_i *isum, __private vec_f *fsum) {
    a_unsigned8 a[STEPS];
    LOAD_A(src, p, rows, i0, k0, a);
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
#pragma unroll
            for (int v = 0; v < NV; ++v)
                SUMS[v] = dpas(a[s], b.steps[s * NV + v], SUMS[v]);
}

// SPDX-License-Identifier: Apache-2.0
// What Xe policies share above their loads: a block's weights stay in registers while groups of eight rows of
// src are multiplied with them. A policy defines dpas(), as SUMS which of the nest's sums it adds to, and as
// LOAD_A what loads rows of src.
#pragma once

#include "policy/xe.h"
#include "policy/xe_loads.h"

#define BY_COLUMNS

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

// SUMS[v] += rows of src times column v of the panel.
static inline __attribute__((always_inline)) void multiply_column(__private const a_rows *a, struct b_panel b,
                                                                  int v, __private vec_i *isum,
                                                                  __private vec_f *fsum) {
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s))
            SUMS[v] = dpas(a[s], b.steps[s * NV + v], SUMS[v]);
}

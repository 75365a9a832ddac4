// SPDX-License-Identifier: Apache-2.0
// The micro-kernel of Xe policies with DPAS or DP4A: the weights of a panel stay in registers while
// groups of eight rows of src are multiplied with them. A policy includes its loads before this
// (xe_1d.h, xe_2d.h), and defines
//   dpas         multiplies a step of eight rows of src with a step of one column
//   SUMS         isum or fsum: the sums that it adds to
//   LOAD_A       loads rows of src: load_a, or a function like it
//   SPLITS_F32   whether f32 may be split into two values (xe_narrow.h). The second values, the
//                rests, of src are after its STEPS; those of weights are in the second half of the
//                panel
//   LOSES_NAN    optional: whether load_b makes numbers of NaN in the weights. Then it sets some of
//                NAN_BITS in NAN_OF(panel, v) if column v has a NaN, and the owner makes the column's sums
//                NaN in the end
#pragma once

#include "policy/xe/xe.h"
#include "policy/xe/xe_steps.h"

// One column vector at a time, so that few sums wait to be scaled.
#define AT_ONCE(count) 1

// Steps of src in registers.
#define SRC_STEPS (SPLITS_F32 ? 2 * STEPS : STEPS)

// A step of this lane's column: elements of K side by side in each int.
typedef int8 panel_vec;
#ifdef LOSES_NAN
#define PANEL_VECTORS (STEPS * NV + NV)
#define NAN_OF(panel, v) ((panel)[STEPS * NV + (v)].s0)
#else
#define PANEL_VECTORS (STEPS * NV)
#endif

struct b_panel {
    __private const panel_vec *steps; // [step][v]
};

// Loads a panel of weights that need no conversion.
static inline struct b_panel load_steps(const struct wei_source *w, global const struct matmul_problem *p,
                                        int k0, __private panel_vec *panel) {
#pragma unroll
    for (int s = 0; s < STEPS; s += 2)
        if (has_step(s))
            read_steps(w, p, k0 + s * STEP_K, has_step(s + 1), &panel[s * NV], &panel[(s + 1) * NV]);
    return (struct b_panel){panel};
}

struct a_group {
    a_rows steps[SRC_STEPS];
};

static inline __attribute__((always_inline)) void load_group(bytes src, global const struct matmul_problem *p,
                                                             __private const struct tile_rows *rows, int i0,
                                                             long k0, __private struct a_group *a) {
    LOAD_A(src, p, rows, i0, k0, a->steps);
}

// SUMS[v] += the rows of the group times column v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int v,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *isum,
                                                           __private vec_f *fsum) {
    __private const a_rows *a = group->steps;
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        if (has_step(s)) {
            // The product of two rests is left out: it is smaller than the rounding errors of the
            // values.
            if (SPLITS_F32 && HAS(FLAG_SPLIT))
                SUMS[v] = dpas(a[STEPS + s], b.steps[s * NV + v], SUMS[v]);
            if (SPLITS_F32 && HAS(FLAG_SPLIT) && !wei_is_integer() && s < STEPS / 2)
                SUMS[v] = dpas(a[s], b.steps[(STEPS / 2 + s) * NV + v], SUMS[v]);
            SUMS[v] = dpas(a[s], b.steps[s * NV + v], SUMS[v]);
        }
}

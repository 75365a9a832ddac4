// SPDX-License-Identifier: Apache-2.0
// Intel GPUs without XMX: 8-bit src with integer weights of at most 8 bits by DP4A, a dot product
// of four bytes in each lane. A word of src has four elements of K of a row, a word of weights four
// elements of K of a column.
#pragma once

#define STEP_K 32 // elements of K in a register of src

#include "policy/xe/xe_1d.h"

// The compiler's own builtins. Newer compilers need the argument saturate; older ones have no such
// parameter and ignore it.
int __builtin_IB_dp4a_ss(int sum, int src, int wei, bool saturate);
int __builtin_IB_dp4a_su(int sum, int src, int wei, bool saturate);
int __builtin_IB_dp4a_us(int sum, int src, int wei, bool saturate);
int __builtin_IB_dp4a_uu(int sum, int src, int wei, bool saturate);

static inline int dp4a(int src, int wei, int sum) {
    if (src_is_signed())
        return wei_is_signed() ? __builtin_IB_dp4a_ss(sum, src, wei, false)
                               : __builtin_IB_dp4a_su(sum, src, wei, false);
    return wei_is_signed() ? __builtin_IB_dp4a_us(sum, src, wei, false)
                           : __builtin_IB_dp4a_uu(sum, src, wei, false);
}

// Computes what DPAS does: eight rows of src, four bytes a lane, times this lane's column.
static inline int8 dpas(a_rows src, int8 wei, int8 sum) {
#define ROW(i, lane, four) sum.s##i = dp4a((int)sub_group_broadcast(src.s##i, lane), four, sum.s##i);
#define EIGHT_ROWS(lane)                                                                                     \
    ROW(0, lane, wei.s##lane)                                                                                \
    ROW(1, lane, wei.s##lane)                                                                                \
    ROW(2, lane, wei.s##lane)                                                                                \
    ROW(3, lane, wei.s##lane)                                                                                \
    ROW(4, lane, wei.s##lane)                                                                                \
    ROW(5, lane, wei.s##lane)                                                                                \
    ROW(6, lane, wei.s##lane)                                                                                \
    ROW(7, lane, wei.s##lane)
    EIGHT_ROWS(0)
    EIGHT_ROWS(1)
    EIGHT_ROWS(2)
    EIGHT_ROWS(3)
    EIGHT_ROWS(4)
    EIGHT_ROWS(5)
    EIGHT_ROWS(6)
    EIGHT_ROWS(7)
    return sum;
}

#define SPLITS_F32 false
#define SUM_FACTOR 1.f
#define SUMS isum
#define LOAD_A load_a
#include "policy/xe/xe_multiply.h"

// Converts four nibbles to four bytes.
static inline int widen(ushort nibbles) {
    uint four = nibbles;
    four = (four | four << 8) & 0x00ff00ff;
    four = (four | four << 4) & 0x0f0f0f0f;
    // Flips the sign bit and subtracts 8. The highest bit of each byte is set meanwhile, so that no
    // byte borrows from the next.
    if (spec_wei_dt() == DT_S4)
        four = ((four ^ 0x88888888) - 0x08080808) ^ 0x80808080;
    return (int)four;
}

// Converts a step of nibbles, which are in the first half of the vector, to bytes.
static inline int8 widen_step(int8 step) {
    const ushort8 fours = as_ushort8(step.lo);
    return (int8)(widen(fours.s0), widen(fours.s1), widen(fours.s2), widen(fours.s3), widen(fours.s4),
                  widen(fours.s5), widen(fours.s6), widen(fours.s7));
}

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    const struct b_panel b = load_steps(w, p, (int)k0, panel);
    if (wei_is_nibbles())
#pragma unroll
        for (int i = 0; i < PANEL_VECTORS; ++i)
            if (has_step(i / NV))
                panel[i] = widen_step(panel[i]);
    return b;
}

// sum[v] += the sum of the panel's column v along K.
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {
#pragma unroll
    for (int i = 0; i < PANEL_VECTORS; ++i)
        if (has_step(i / NV)) {
            const int8 w = b.steps[i];
            // Ones for the elements of K that there are: four bytes a lane, and one lane for each
            // four.
            const int ones = ones_of(length - i / NV * STEP_K - 4 * (int)get_sub_group_local_id());
#define ONES(j)                                                                                              \
    sum[i % NV] = dp4a(HAS(FLAG_PANEL_TAIL) ? sub_group_broadcast(ones, j) : 0x01010101, w.s##j, sum[i % NV]);
            ONES(0) ONES(1) ONES(2) ONES(3) ONES(4) ONES(5) ONES(6) ONES(7)
        }
}

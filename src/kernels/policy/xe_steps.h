// SPDX-License-Identifier: Apache-2.0
// What loads in one and in two dimensions share: the steps of a block, and weights that lie anyhow. A step is
// what one DPAS takes along K, 32 bytes of a row of src.
#pragma once

#include "policy/xe.h"
#include "spec.h"

#define STEP_BYTES 32

// The most steps of a panel, and those that it has: loops over them are unrolled, so that sums never leave
// their registers.
#define STEPS (TILE_K / STEP_K)
static inline bool has_step(int s) {
    return s * STEP_K < spec_panel_k();
}

// Whether K has all of the `length` elements from k on.
static inline bool is_whole(global const struct matmul_problem *p, long k, int length) {
    return !HAS(FLAG_K_TAIL) || k + length <= p->k;
}

// Of src as DPAS takes it in sub-groups of LANES: 32 bytes of K of a row are LANES elements.
#if LANES == 16
typedef short a_signed;
typedef short8 a_signed8;
typedef ushort8 a_unsigned8;
#define as_a_signed8(x) as_short8(x)
#else
typedef int a_signed;
typedef int8 a_signed8;
typedef uint8 a_unsigned8;
#define as_a_signed8(x) as_int8(x)
#endif

// A step of weights is 32 of K of integers (of 4-bit ones the first four ints), 16 of K of halves, 8 of f32.
static inline int wei_step() {
    return wei_bits() == 32 ? 8 : wei_bits() == 16 ? 16 : 32;
}

// Any strides: the step of the column that begins at `column`, from k on.
static __attribute__((noinline)) int8 gather_column(bytes wei, global const struct matmul_problem *p,
                                                    long column, long k) {
    int words[8];
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
        words[j] = 0;
#pragma unroll 1
        for (int i = 0; i < 32 && j * 32 / wei_bits() < wei_step(); i += wei_bits(), ++k) {
            if (k >= p->k)
                continue;
            const long at = column + k * p->wei.row;
            const int value = wei_bits() == 32   ? ((global const int *)wei)[at]
                              : wei_bits() == 16 ? ((global const ushort *)wei)[at]
                                                 : load_int(wei, spec_wei_dt(), at) & ((1 << wei_bits()) - 1);
            words[j] |= value << i;
        }
    }
    return vload8(0, words);
}

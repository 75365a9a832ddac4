// SPDX-License-Identifier: Apache-2.0
// Shared by 1-D and 2-D loads: the steps of a block, and loads of operands with any strides. A
// step is what one DPAS takes along K: 32 bytes of a row of src.
#pragma once

#include "policy/xe/xe.h"
#include "problem/spec.h"

#define STEP_BYTES 32

// STEPS: steps of the longest panel. has_step: whether the panel has step s. Loops go over all
// STEPS, so that they can be unrolled and sums stay in registers.
#define STEPS (TILE_K / STEP_K)
static inline bool has_step(int s) {
    return s * STEP_K < spec_panel_k();
}

// Whether K has all of the elements k .. k + length - 1.
static inline bool is_whole(global const struct matmul_problem *p, long k, int length) {
    return !HAS(FLAG_PANEL_TAIL) || k + length <= p->k;
}

// a_row: a step of one row of src. a_rows: a step of eight rows, as it is in registers: eight lanes
// have four bytes each of a row, so in sub-groups of 16 an int vector element has two rows, one in
// each half of the lanes. For sub-groups of 16 the OpenCL extension for DPAS takes two bytes a lane
// instead, and with it older compilers copy half registers wherever a part of a larger load is
// multiplied. So policies call the compiler's own DPAS builtins, which take registers as they are.
#if LANES == 16
typedef short a_row;
typedef uint4 a_rows;
#else
typedef int a_row;
typedef uint8 a_rows;
#endif
#define A_ROW_LANES 8
#define A_INTS (8 * A_ROW_LANES / LANES)

// This lane's part of a step of eight rows, for src with any strides. begin: element offset of the
// matrix; row: the first row; k: the step's first element. Rows past the end repeat the last one.
// Not inlined, because each step needs it.
static __attribute__((noinline)) a_rows gather_rows(bytes src, global const struct matmul_problem *p,
                                                    long begin, int row, int k) {
    const int size = src_bytes(), lane = get_sub_group_local_id();
    const int first = k + lane % A_ROW_LANES * (4 / size);
    union {
        uint ints[A_INTS];
        a_rows all;
    } a;
#pragma unroll 1
    for (int i = 0; i < A_INTS; ++i) {
        const long at = begin + min((long)row + (i * LANES + lane) / A_ROW_LANES, p->rows - 1) * p->src.row;
        a.ints[i] = 0;
#pragma unroll 1
        for (int j = 0; j < 4 / size && first + j < p->k; ++j) {
            const long element = at + (first + j) * p->src.column;
            const uint value = size == 1   ? src[element]
                               : size == 2 ? ((global const ushort *)src)[element]
                                           : ((global const uint *)src)[element];
            a.ints[i] |= value << (j * 8 * size);
        }
    }
    return a.all;
}

// Four bytes, the first `count` of them 1, the others 0. count may be 0 or less.
static inline int ones_of(int count) {
    return count < 1 ? 0 : 0x01010101 >> (32 - 8 * min(count, 4));
}

// Elements of K in a step of weights: 32 of types of at most 8 bits (those of 4 bits are in the first four
// ints), 16 of halves, 8 of f32.
static inline int wei_step() {
    return wei_bits() == 32 ? 8 : wei_bits() == 16 ? 16 : 32;
}

// A step, from element k on, of the column that begins at element `column`, for weights with any
// strides.
static __attribute__((noinline)) int8 gather_column(bytes wei, global const struct matmul_problem *p,
                                                    long column, long k) {
    const int bits = loaded_bits();
    int words[8];
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
        words[j] = 0;
#pragma unroll 1
        for (int i = 0; i < 32 && j * 32 / bits < wei_step(); i += bits, ++k) {
            if (k >= p->k)
                continue;
            const long at = column + k * p->wei.row;
            const int value = wei_bits() == 32   ? ((global const int *)wei)[at]
                              : wei_bits() == 16 ? ((global const ushort *)wei)[at]
                              : wei_bits() == 8  ? wei[at]
                                                 : load_narrow(wei, wei_bits(), at);
            words[j] |= value << i;
        }
    }
    return vload8(0, words);
}

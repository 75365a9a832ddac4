// SPDX-License-Identifier: Apache-2.0
// Weights as DPAS takes them: this lane's column, elements of K side by side in ints. A step is 32 of K of
// integers (of 4-bit ones the first four ints) and 16 of K of halves.
#pragma once

#include "policy/packed.h"
#include "policy/xe_2d.h"

static inline int wei_bits() {
    return wei_is_int4() ? 4 : spec_wei_dt() == DT_S8 || spec_wei_dt() == DT_U8 ? 8 : 16;
}
static inline int wei_step() {
    return wei_bits() == 16 ? 16 : 32;
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
            const int value = wei_bits() == 16 ? ((global const ushort *)wei)[at]
                                               : load_int(wei, spec_wei_dt(), at) & ((1 << wei_bits()) - 1);
            words[j] |= value << i;
        }
    }
    return vload8(0, words);
}

// Panels of 64 columns; a row of a panel is four of K of integers, one of K of halves. The matrix of a panel
// is read in units of a column.
static inline struct surface packed_panel(bytes wei, global const struct matmul_problem *p, long begin,
                                          long n0) {
    const int per_row = wei_bits() == 16 ? 1 : 4;
    const int pitch = PACKED_N * per_row * wei_bits() / 8;
    return make_surface(wei + (begin + n0 / PACKED_N * p->wei_panel) * wei_bits() / 8, pitch,
                        p->wei_panel / (PACKED_N * per_row), pitch);
}

// Two steps, from column n0 and element k on; n0 is the same in all lanes.
static inline void read_steps(bytes wei, global const struct matmul_problem *p, long begin, long n0, int k,
                              bool both, __private int8 *first, __private int8 *second) {
    const int bits = wei_bits(), step = wei_step();
    if (spec_wei_unit() == UNIT_PACKED) {
        const struct surface m = packed_panel(wei, p, begin, n0);
        const int column = (int)(n0 % PACKED_N);
        if (bits == 8) {
            *first = as_int8(READ_2D(u32_m8k16v1, m, (int2)(m.x0 / 4 + column, k / 4)));
            if (both)
                *second = as_int8(READ_2D(u32_m8k16v1, m, (int2)(m.x0 / 4 + column, k / 4 + 8)));
        } else if (bits == 4) {
            // Two rows of halves make an int: eight of K.
            const int8 two = as_int8(READ_2D(transform_u16_k16, m, (int2)(m.x0 / 2 + column, k / 4)));
            *first = (int8)(two.lo, (int4)0);
            *second = (int8)(two.hi, (int4)0);
        } else {
            *first = as_int8(READ_2D(transform_u16_k16, m, (int2)(m.x0 / 2 + column, k)));
            if (both)
                *second = as_int8(READ_2D(transform_u16_k16, m, (int2)(m.x0 / 2 + column, k + 16)));
        }
        return;
    }
    if (!HAS(FLAG_WEI_2D)) {
        const long column = begin + min(n0 + (int)get_sub_group_local_id(), p->n - 1) * p->wei.column;
        *first = gather_column(wei, p, column, k);
        if (both)
            *second = gather_column(wei, p, column, k + step);
        return;
    }
    if (spec_wei_unit() == UNIT_COLUMN) {
        const struct surface m =
            make_surface(wei + begin * bits / 8, p->n * bits / 8, p->k, p->wei.row * bits / 8);
        const int x = m.x0 * 8 / bits + (int)n0;
        if (bits == 8) {
            *first = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k)));
            if (both)
                *second = as_int8(READ_2D(transform_u8_k32, m, (int2)(x, k + step)));
        } else {
            *first = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k)));
            if (both)
                *second = as_int8(READ_2D(transform_u16_k16, m, (int2)(x, k + step)));
        }
        return;
    }
    // Columns lie along K: ints of K, one row of the matrix a lane.
    const struct surface m =
        make_surface(wei + begin * bits / 8, p->k * bits / 8, p->n, p->wei.column * bits / 8);
    const int x = (m.x0 + k * bits / 8) / 4;
    const int8 read = as_int8(READ_2D(transpose_u32_k8, m, (int2)(x, (int)n0)));
    if (bits == 4) {
        *first = (int8)(read.lo, (int4)0);
        *second = (int8)(read.hi, (int4)0);
        return;
    }
    *first = read;
    if (both)
        *second = as_int8(READ_2D(transpose_u32_k8, m, (int2)(x + 8, (int)n0)));
}

// SPDX-License-Identifier: Apache-2.0
// Rows of src as DPAS takes them, by 2-D block loads: 32 bytes of K of eight rows, two bytes a lane.
#pragma once

#include "policy/xe_2d.h"
#include "policy/xe_steps.h"
#include "rows.h"

// Any strides, element by element: what this lane has of eight rows from `row` on, from element k on. A
// function of its own, as everything for tensors that the hardware's loads cannot read: it is needed once for
// each step.
static __attribute__((noinline)) ushort8 gather_rows(bytes src, global const struct matmul_problem *p,
                                                     long begin, long row, int k) {
    ushort values[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        const long at = begin + min(row + i, p->rows - 1) * p->src.row + k * p->src.column;
        if (src_bytes() == 1)
            values[i] =
                (ushort)((k < p->k ? src[at] : 0) | (k + 1 < p->k ? src[at + p->src.column] : 0) << 8);
        else if (src_bytes() == 2)
            values[i] = k < p->k ? ((global const ushort *)src)[at] : 0;
        else // half an element: the lower one in even lanes
            values[i] = k < p->k ? ((global const ushort *)src)[at * 2 + get_sub_group_local_id() % 2] : 0;
    }
    return vload8(0, values);
}

// a[s]: step s of the block from k0 on, of the tile's rows i0.. + 7.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private a_unsigned8 *a) {
    const int row = rows->first + i0;
    if (!HAS(FLAG_SRC_2D)) {
        const int first = (int)k0 + (int)get_sub_group_local_id() * 2 / src_bytes();
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, row, first + s * STEP_K);
        return;
    }
    const int size = src_bytes();
    const struct surface m = rows->matrix;
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        const int2 at = (int2)(m.x0 + (int)k0 * size + s * STEP_BYTES, row);
        if (has_step(s + 1)) {
            const ushort16 two = READ_2D(u8_m8k32v2, m, at);
            a[s] = two.lo;
            a[s + 1] = two.hi;
        } else if (has_step(s)) {
            a[s] = READ_2D(u8_m8k32v2, m, at).lo;
        }
    }
}

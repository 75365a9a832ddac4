// SPDX-License-Identifier: Apache-2.0
// Loads rows of src for DPAS by 2-D block loads: 32 bytes along K of eight rows.
#pragma once

#include "owner/sub_group.h"
#include "policy/xe/xe_2d.h"
#include "policy/xe/xe_steps.h"

// a[s]: step s of rows i0 .. i0 + 7 of the tile, in the block from element k0 of K on.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private a_rows *a) {
    const int row = rows->first + i0;
    if (spec_src_load() != SRC_LOAD_2D) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, row, (int)k0 + s * STEP_K);
        return;
    }
    const int size = src_bytes();
    const struct surface m = rows->matrix;
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        const int2 at = (int2)(m.x0 + (int)k0 * size + s * STEP_BYTES, row);
        if (has_step(s + 1)) {
            const uint8 two = READ_2D(u8_m8k32v2, m, at);
            a[s] = two.lo;
            a[s + 1] = two.hi;
        } else if (has_step(s)) {
            a[s] = READ_2D(u8_m8k32v2, m, at).lo;
        }
    }
}

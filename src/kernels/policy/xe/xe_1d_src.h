// SPDX-License-Identifier: Apache-2.0
// Loads rows of src for DPAS by 1-D block loads (cl_intel_subgroups): 32 bytes along K of eight
// rows, four bytes a lane. Nothing is read behind the end of a row, because that could be outside
// of the tensor: in a block that K does not fill, each lane reads only what there is. Rows past the
// end repeat the last one.
#pragma once

#include "owner/sub_group.h"
#include "policy/xe/xe_steps.h"

#if LANES != 8
#error "a DPAS of GPUs without 2-D block loads has 8 lanes"
#endif

uint __attribute__((overloadable)) intel_sub_group_block_read(const global uint *at);
uint2 __attribute__((overloadable)) intel_sub_group_block_read2(const global uint *at);

// One word of each of eight rows, as a vector.
static inline uint8 eight_rows(__private const uint *w) {
    return (uint8)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
}

// a[s]: step s of rows i0 .. i0 + 7 of the tile, in the block from element k0 of K on.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private a_rows *a) {
    const int size = src_bytes(), lane = get_sub_group_local_id();
    if (spec_src_load() != SRC_LOAD_1D) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            if (has_step(s))
                a[s] = gather_rows(src, p, rows->src, rows->first + i0, (int)k0 + s * STEP_K);
        return;
    }
    const bool whole = HAS(FLAG_ARRANGED) || is_whole(p, k0, spec_panel_k());
    const int left = (int)(p->k - k0) * size - lane * 4; // bytes of a row from this lane's word on
    uint words[STEPS][8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        // Block loads need an address that is the same in all lanes.
        const uint row = sub_group_broadcast(rows->at[i0 / LANES], i);
        global const uint *at = (global const uint *)(src + (row + (uint)k0 * size));
#pragma unroll
        for (int s = 0; s < STEPS; s += 2)
            if (!whole) {
                words[s][i] = has_step(s) && s * STEP_BYTES < left ? at[s * LANES + lane] : 0;
                if (has_step(s + 1))
                    words[s + 1][i] = (s + 1) * STEP_BYTES < left ? at[(s + 1) * LANES + lane] : 0;
            } else if (has_step(s + 1)) {
                const uint2 two = intel_sub_group_block_read2(at + s * LANES);
                words[s][i] = two.s0;
                words[s + 1][i] = two.s1;
            } else if (has_step(s)) {
                words[s][i] = intel_sub_group_block_read(at + s * LANES);
            }
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
        a[s] = eight_rows(words[s]);
}

// SPDX-License-Identifier: Apache-2.0
// A matrix in memory as 2-D block loads want it (cl_intel_subgroup_2d_block_io). What lies outside of it
// reads as 0.
#pragma once

#include "data_type.h"
#include "spec.h"

static inline int src_bytes() { // of an element
    return type_bits(spec_src_dt()) / 8;
}

struct surface {
    global void *base; // a multiple of 64
    int width, height; // bytes of a row, rows
    int pitch;         // bytes from row to row
    int x0;            // bytes from base to the first column
};

// width, pitch: in bytes. The plan sees to what the hardware wants: SRC_LOAD_2D, FLAG_WEI_2D.
static inline struct surface make_surface(bytes first, long width, long height, long pitch) {
    const ulong address = (ulong)first;
    struct surface s;
    s.x0 = (int)(address & 63);
    s.base = (global void *)(address - s.x0);
    s.width = (int)width + s.x0;
    s.height = (int)height;
    s.pitch = (int)pitch;
    return s;
}

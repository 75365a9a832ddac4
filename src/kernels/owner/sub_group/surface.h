// SPDX-License-Identifier: Apache-2.0
// A matrix as 2-D block loads take it (cl_intel_subgroup_2d_block_io). They read 0 outside of it.
#pragma once

#include "arithmetic/data_type.h"
#include "problem/spec.h"

static inline int src_bytes() { // bytes of an element
    return type_bits(spec_src_dt()) / 8;
}

struct surface {
    global void *base; // aligned to 64 bytes
    int width, height; // bytes of a row, number of rows
    int pitch;         // bytes from row to row
    int x0;            // bytes from base to the first column
};

// width, pitch: in bytes. The host sets SRC_LOAD_2D and FLAG_WEI_2D only where the matrix is within
// the hardware's limits.
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

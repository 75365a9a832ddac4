// SPDX-License-Identifier: Apache-2.0
// Where an element of a tensor is that may have blocks.
#pragma once

#include "args/reorder_args.h"

typedef global const struct reorder_tensor *reordered;

// The place of the element with coordinates c, in elements.
static inline long element_offset(reordered t, int ndims, const __private long *c) {
    long rest[REORDER_MAX_NDIMS];
    long offset = t->offset, stride = 1;
    for (int d = 0; d < ndims; ++d) {
        offset += c[d] / t->blocks[d] * t->strides[d];
        rest[d] = c[d] % t->blocks[d];
    }
    for (int i = t->inner_nblks - 1; i >= 0; --i) {
        const long d = t->inner_idxs[i], size = t->inner_blks[i];
        offset += rest[d] % size * stride;
        rest[d] /= size;
        stride *= size;
    }
    return offset;
}

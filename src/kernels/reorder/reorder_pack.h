// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels that pack weights: sizes of units, and offsets of matrices.
#pragma once

#include "reorder/reorder_spec.h"

// Elements of a unit (reorder_args.h).
static inline int unit() {
    return spec_bits() <= 8 ? 4 : 1;
}

static inline long bytes_of(long elements) {
    return elements * spec_bits() / 8;
}

// Moves the four 2-bit elements in the low 8 bits to four bytes.
#define DEFINE_SPREAD(T)                                                                                     \
    static inline __attribute__((overloadable)) T spread(T x) {                                              \
        x = (x | x << 12) & 0x000f000f;                                                                      \
        return (x | x << 6) & 0x03030303;                                                                    \
    }
DEFINE_SPREAD(uint)
DEFINE_SPREAD(uint16)

// Element offsets of a matrix in src and dst.
struct matrices {
    long src, dst;
};

static inline struct matrices matrices_of(global const struct pack_problem *p, long batch) {
    struct matrices at = {p->src_offset, p->dst_offset};
    for (int d = p->batch_ndims - 1; d >= 0; --d) {
        at.src += batch % p->batch_dims[d] * p->src_batch[d];
        at.dst += batch % p->batch_dims[d] * p->dst_batch[d];
        batch /= p->batch_dims[d];
    }
    return at;
}

// SPDX-License-Identifier: Apache-2.0
// Addressing: element offsets of a row of dst, and of columns, in every tensor of the matmul.
#pragma once

#include "args/matmul_args.h"

typedef global const struct tensor_arg *tensor;

// Functions that are called in many places, but not in the loops over K.
#ifndef CALLED
#define CALLED static inline
#endif

// The coordinates of a row of dst.
struct row_index {
    long batch[MATMUL_MAX_BATCH_NDIMS];
    long m;
};

// linear: the number of the row, counted over (batch.., m).
CALLED struct row_index row_at(global const struct matmul_problem *p, long linear) {
    struct row_index r;
    r.m = linear % p->m;
    long rest = linear / p->m;
    for (int d = p->batch_ndims - 1; d >= 0; --d) {
        r.batch[d] = rest % p->batch_dims[d];
        rest /= p->batch_dims[d];
    }
    return r;
}

CALLED long batch_offset(global const struct matmul_problem *p, tensor t, const struct row_index *r) {
    long offset = t->offset0;
    for (int d = 0; d < p->batch_ndims; ++d)
        offset += r->batch[d] * t->batch[d];
    return offset;
}

// The number of the group that row m belongs to.
#ifndef GROUP_OF_ROW
#define GROUP_OF_ROW(t, m) ((m) / (t)->row_group)
#endif

// The offset where row r begins in a tensor. column_offset is added to it.
static inline long row_offset(global const struct matmul_problem *p, tensor t, const struct row_index *r) {
    return batch_offset(p, t, r) + GROUP_OF_ROW(t, r->m) * t->row;
}

static inline long column_offset(tensor t, long column) {
    return column / t->column_group * t->column;
}

// SPDX-License-Identifier: Apache-2.0
// Addressing: from a row of the result to the element offsets of every tensor that takes part.
#pragma once

#include "matmul_args.h"

typedef global const struct tensor_arg *tensor;

// Coordinates of one row of dst: its batch coordinates and its m.
struct row_index {
    long batch[MATMUL_MAX_BATCH_NDIMS];
    long m;
};

// linear: the row's number in row-major order over (batch.., m).
static inline struct row_index row_at(global const struct matmul_problem *p, long linear) {
    struct row_index r;
    r.m = linear % p->m;
    long rest = linear / p->m;
    for (int d = p->batch_ndims - 1; d >= 0; --d) {
        r.batch[d] = rest % p->batch_dims[d];
        rest /= p->batch_dims[d];
    }
    return r;
}

static inline long batch_offset(global const struct matmul_problem *p, tensor t, const struct row_index *r) {
    long offset = t->offset0;
    for (int d = 0; d < p->batch_ndims; ++d)
        offset += r->batch[d] * t->batch[d];
    return offset;
}

// Offset of a tensor whose rows are the rows of dst; column offsets are added by column_offset.
static inline long row_offset(global const struct matmul_problem *p, tensor t, const struct row_index *r) {
    return batch_offset(p, t, r) + r->m / t->row_group * t->row;
}

static inline long column_offset(tensor t, long column) {
    return column / t->column_group * t->column;
}

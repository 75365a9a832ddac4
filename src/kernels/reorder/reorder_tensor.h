// SPDX-License-Identifier: Apache-2.0
// Where an element of a tensor of reorder.cl is, and its parameters.
#pragma once

#include "problem/element_offset.h"
#include "reorder/reorder_spec.h"

typedef global const struct reorder_problem *problem;
typedef global const struct reorder_parameter *parameter;

static inline long parameter_offset(problem p, parameter t, const __private long *c) {
    long offset = 0;
    const int n = p->ndims;
    for (int d = 0; d < n - 2; ++d)
        offset += c[d] * t->strides[d];
    if (n > 1)
        offset += c[n - 2] / t->row_group * t->strides[n - 2];
    return offset + c[n - 1] / t->column_group * t->strides[n - 1];
}

static inline float scale_at(problem p, parameter t, ulong address, float host, const __private long *c) {
    return t->on_host ? host : load_scale_element((bytes)address, t->data_type, parameter_offset(p, t, c));
}

static inline int zero_point_at(problem p, parameter t, ulong address, int host, const __private long *c) {
    return t->on_host ? host : load_int((bytes)address, t->data_type, parameter_offset(p, t, c));
}

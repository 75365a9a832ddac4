// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of the weights for a tile's columns: each lane loads those of its columns.
#pragma once

#include "owner/sub_group/vectors.h"
#include "parameters.h"

// Element offsets of scales or zero points for each of the work-item's columns, in the first group
// of K.
struct column_source {
    parameter_index at[NV];
};

static inline struct column_source find_columns(global const struct matmul_problem *p, tensor t,
                                                const struct row_index *r, long n0, int columns) {
    const long begin = batch_offset(p, t, r);
    struct column_source from;
#pragma unroll
    for (int v = 0; v < NV; ++v)
        from.at[v] = (uint)(begin + parameter_offset(t, min(n0 + v * LANES, p->n - 1)));
    return from;
}

static inline void load_column_scales(__private column_f *scale, ulong address, tensor t, int data_type,
                                      float host, const struct column_source *from, parameter_index row) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        scale[v] = load_scale(address, data_type, host, from->at[v] + row);
}

static inline void load_column_zero_points(__private column_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, const struct column_source *from,
                                           parameter_index row) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        zero_point[v] = load_zero_point(address, data_type, host, from->at[v] + row);
}

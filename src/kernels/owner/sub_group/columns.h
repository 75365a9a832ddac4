// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of the weights for a tile's columns: each lane loads those of its columns.
#pragma once

#include "owner/sub_group/vectors.h"
#include "owner/sub_group/walk.h"
#include "problem/parameters.h"

#if TILE_N > 4 * LANES
#error "load_column_scales has four columns of a lane"
#endif

// Scales or zero points for each of the work-item's columns.
struct column_source {
    parameter_index at[NV]; // element offsets in the first group of K
    // If can_walk(): addresses in the current segment, and elements from segment to segment.
    ulong current[NV];
    long step;
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

// The next load is that of a segment.
static inline void walk_columns(ulong address, int data_type, tensor t, k_index segment,
                                __private struct column_source *from) {
    from->step = t->row;
#pragma unroll
    for (int v = 0; v < NV; ++v)
        from->current[v] = address_before(address, data_type,
                                          from->at[v] + (parameter_index)(segment * from->step), from->step);
}

// Inlined and unrolled by force: newer compilers do neither with so many types of scales, and would keep
// the tile in memory.
static inline __attribute__((always_inline)) void load_column_scales(__private column_f *scale, ulong address,
                                                                     tensor t, int data_type, float host,
                                                                     __private struct column_source *from,
                                                                     parameter_index row) {
#define LOAD_SCALE(v)                                                                                        \
    if ((v) < NV)                                                                                            \
        scale[v] = HAS(FLAG_WEI_SCALE_K) && can_walk(data_type)                                              \
                       ? walk_scale(&from->current[v], data_type, from->step)                                \
                       : load_scale(address, data_type, host, from->at[v] + row);
    LOAD_SCALE(0)
    LOAD_SCALE(1)
    LOAD_SCALE(2)
    LOAD_SCALE(3)
#undef LOAD_SCALE
}

// Factors of scales or offsets of the work-item's columns. There are no registers to keep them in.
struct column_factors {
    struct column_source from;
};

// Multiplies what was loaded for a block's segment by the factors of its group of K.
static inline __attribute__((always_inline)) void multiply_by_factors(__private column_f *x, ulong address,
                                                                      tensor t, int data_type,
                                                                      const struct k_block *block,
                                                                      __private struct column_factors *f) {
    const parameter_index group = (parameter_index)block->k0 / (parameter_index)t->row_group;
#define MULTIPLY(v)                                                                                          \
    if ((v) < NV)                                                                                            \
        x[v] *= load_scale(address, data_type, 0.f, f->from.at[v] + group * (parameter_index)t->row);
    MULTIPLY(0)
    MULTIPLY(1)
    MULTIPLY(2)
    MULTIPLY(3)
#undef MULTIPLY
}

static inline void load_column_zero_points(__private column_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, __private struct column_source *from,
                                           parameter_index row) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
        if (HAS(FLAG_WEI_ZP_K) && can_walk(data_type))
            zero_point[v] = walk_integer(&from->current[v], data_type, from->step);
        else
            zero_point[v] = load_zero_point(address, data_type, host, from->at[v] + row);
}

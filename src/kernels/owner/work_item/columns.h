// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of the weights for a tile's columns.
#pragma once

#include "owner/work_item/elements.h"
#include "problem/k_block.h"

// Where scales or zero points lie for the tile's columns. n0: the first column.
struct column_source {
    long begin, n0; // begin: element offset of the batch's matrix
    int columns;
};

static inline struct column_source find_columns(global const struct matmul_problem *p, tensor t,
                                                const struct row_index *r, long n0, int columns) {
    return (struct column_source){batch_offset(p, t, r), n0, columns};
}

// Loads LANES contiguous elements of a tensor of zero points. This, like load_column_scale, is
// inlined and looks at the type itself: few rows of dst are multiplied by a group of K in less time
// than a jump takes that is not foreseen.
static inline column_i load_column_zero_point(bytes p, int data_type, long i) {
    if (data_type == DT_S32) // f32 does not hold every s32
        return load_column_s32((global const int *)p + i);
    switch (data_type) {
#define ZEMM_INT_TYPE(name, NAME, ...)                                                                       \
    case DT_##NAME:                                                                                          \
        return to_column_i(load_column_f(p, DT_##NAME, i));
#include "lists/types.def"
    }
    return (column_i)0;
}

// Whether the values of the tile's columns, from element `offset` on, can be loaded a vector at a
// time.
static inline bool columns_are_vectors(tensor t, int data_type, long offset, int columns) {
    return t->column == 1 && t->column_group == 1 && columns == TILE_N && is_whole_byte(data_type, offset);
}

// Loads the scales of other columns one by one.
static __attribute__((noinline)) void load_single_scales(__private float *scale, ulong address, tensor t,
                                                         int data_type, long begin, long n0, int columns) {
#pragma unroll 1
    for (int n = 0; n < TILE_N; ++n)
        scale[n] = load_scale_element((bytes)address, data_type,
                                      begin + parameter_offset(t, n0 + min(n, columns - 1)));
}
static __attribute__((noinline)) void load_single_zero_points(__private int *zero_point, ulong address,
                                                              tensor t, int data_type, long begin, long n0,
                                                              int columns) {
#pragma unroll 1
    for (int n = 0; n < TILE_N; ++n)
        zero_point[n] =
            load_int((bytes)address, data_type, begin + parameter_offset(t, n0 + min(n, columns - 1)));
}

// scale[v]: for vector v of columns. row: element offset of a group of K.
static inline void load_column_scales(__private column_f *scale, ulong address, tensor t, int data_type,
                                      float host, const struct column_source *from, long row) {
    const long begin = from->begin + row;
    if (!HAS(FLAG_WEI_SCALE_K) && data_type != 0) { // once in a tile
        load_elements((bytes)address, t, data_type, begin, from->n0, from->columns, scale);
        return;
    }
    if (data_type == 0 || t->column == 0) {
        const float x = load_scale(address, data_type, host, begin);
        for (int v = 0; v < NV; ++v)
            scale[v] = (column_f)x;
    } else if (columns_are_vectors(t, data_type, begin + from->n0, from->columns)) {
        for (int v = 0; v < NV; ++v)
            scale[v] = load_column_scale((bytes)address, data_type, begin + from->n0 + v * LANES);
    } else {
        column_f single[NV]; // scale, if a call wrote to it, would be in memory in the other cases, too
        load_single_scales((__private float *)single, address, t, data_type, begin, from->n0, from->columns);
        for (int v = 0; v < NV; ++v)
            scale[v] = single[v];
    }
}

// Factors of scales or offsets of the tile's columns. They stay until their group of K ends.
struct column_factors {
    struct column_source from;
    long row, end; // element offset of the group in the tensor, and the element of K where it ends
    column_f values[NV];
};

// Multiplies what was loaded for a block's segment by the factors of its group of K.
static inline void multiply_by_factors(__private column_f *x, ulong address, tensor t, int data_type,
                                       const struct k_block *block, __private struct column_factors *f) {
    if (block->opens || block->k0 >= f->end) {
        const long group = block->k0 / t->row_group;
        f->row = group * t->row;
        f->end = (group + 1) * t->row_group;
        load_column_scales(f->values, address, t, data_type, 0.f, &f->from, f->row);
    }
    for (int v = 0; v < NV; ++v)
        x[v] *= f->values[v];
}

static inline void load_column_zero_points(__private column_i *zero_point, ulong address, tensor t,
                                           int data_type, int host, const struct column_source *from,
                                           long row) {
    const long begin = from->begin + row;
    if (!HAS(FLAG_WEI_ZP_K) && data_type != 0) { // once in a tile
        if (data_type == DT_S32) {               // f32 does not hold every s32
            load_single_zero_points((__private int *)zero_point, address, t, data_type, begin, from->n0,
                                    from->columns);
            return;
        }
        column_f loaded[NV];
        load_elements((bytes)address, t, data_type, begin, from->n0, from->columns, loaded);
        for (int v = 0; v < NV; ++v)
            zero_point[v] = to_column_i(loaded[v]);
        return;
    }
    if (data_type == 0 || t->column == 0) {
        const int x = load_zero_point(address, data_type, host, begin);
        for (int v = 0; v < NV; ++v)
            zero_point[v] = (column_i)x;
    } else if (columns_are_vectors(t, data_type, begin + from->n0, from->columns)) {
        for (int v = 0; v < NV; ++v)
            zero_point[v] = load_column_zero_point((bytes)address, data_type, begin + from->n0 + v * LANES);
    } else {
        load_single_zero_points((__private int *)zero_point, address, t, data_type, begin, from->n0,
                                from->columns);
    }
}

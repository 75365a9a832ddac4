// SPDX-License-Identifier: Apache-2.0
// Writes a sparse matrix as a dense one. The host has checked its pointers and indices. A work-item
// writes a row.
#include "reorder/sparse.h"

// The first of the sorted numbers that is not below row.
static inline long first_of(global const uchar *numbers, int is_wide, long count, long row) {
    long low = 0, high = count;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (number_at(numbers, is_wide, middle) < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define SCATTER(type)                                                                                        \
    {                                                                                                        \
        global const type *from = (global const type *)values;                                               \
        global type *to = (global type *)dst + row * p->columns;                                             \
        for (long i = 0; i < p->columns; ++i)                                                                \
            to[i] = 0;                                                                                       \
        for (long i = begin; i < end; ++i)                                                                   \
            to[number_at(indices, p->has_wide_indices, i)] = from[i];                                        \
    }

#define UNPACK(type)                                                                                         \
    {                                                                                                        \
        global const type *from = (global const type *)values + number_at(pointers, 1, row);                 \
        global type *to = (global type *)dst + row * p->columns;                                             \
        global const ulong *masks = (global const ulong *)indices + row * (p->columns / 64);                 \
        for (long i = 0; i < p->columns; i += 64) {                                                          \
            for (int j = 0; j < 64; ++j)                                                                     \
                to[i + j] = 0;                                                                               \
            for (ulong mask = masks[i / 64]; mask != 0; mask &= mask - 1)                                    \
                to[i + 63 - clz(mask & -mask)] = *from++;                                                    \
        }                                                                                                    \
    }

__attribute__((reqd_work_group_size(1, 1, 1))) kernel void densify(global const uchar *values,
                                                                   global const uchar *pointers,
                                                                   global const uchar *indices,
                                                                   global uchar *dst, sparse_problem p) {
    const long row = get_global_id(0);
    if (p->encoding == SPARSE_PACKED) {
        FOR_TYPE_OF_BITS(p->bits, UNPACK)
        return;
    }
    const bool is_coo = p->encoding == SPARSE_COO;
    const int is_wide = p->has_wide_pointers;
    const long begin =
        is_coo ? first_of(pointers, is_wide, p->count, row) : number_at(pointers, is_wide, row);
    const long end =
        is_coo ? first_of(pointers, is_wide, p->count, row + 1) : number_at(pointers, is_wide, row + 1);
    FOR_TYPE_OF_BITS(p->bits, SCATTER)
}

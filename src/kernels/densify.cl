// SPDX-License-Identifier: Apache-2.0
// Writes a sparse matrix (CSR or COO, with indices of s32 in increasing order) as a dense one. A
// work-item writes a row.
#include "densify_args.h"

// The first of the sorted indices that is not below row.
static inline long first_of(global const int *indices, long count, long row) {
    long low = 0, high = count;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (indices[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// rows: pointers to the rows' first values (CSR), or the row of each value (COO).
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void
densify(global const uchar *values, global const int *rows, global const int *columns, global uchar *dst,
        global const struct densify_problem *p) {
    const long row = get_global_id(0);
    const long begin = p->is_coo ? first_of(rows, p->count, row) : rows[row];
    const long end = p->is_coo ? first_of(rows, p->count, row + 1) : rows[row + 1];
    if (p->bits == 32) {
        global uint *to = (global uint *)dst + row * p->columns;
        for (long i = 0; i < p->columns; ++i)
            to[i] = 0;
        for (long i = begin; i < end; ++i)
            to[columns[i]] = ((global const uint *)values)[i];
    } else {
        global ushort *to = (global ushort *)dst + row * p->columns;
        for (long i = 0; i < p->columns; ++i)
            to[i] = 0;
        for (long i = begin; i < end; ++i)
            to[columns[i]] = ((global const ushort *)values)[i];
    }
}

// SPDX-License-Identifier: Apache-2.0
// Writes a dense matrix as a sparse one, in two launches. The first counts each row's elements that are
// not 0; from these counts the host makes the number of values before each row. The second writes.
#include "reorder/reorder_spec.h"
#include "reorder/sparse.h"

#define IS_NONZERO(x) (((ulong)(x)&p->nonzero) != 0)

#define COUNT(type)                                                                                          \
    {                                                                                                        \
        global const type *from = (global const type *)dense + row * p->columns;                             \
        long count = 0;                                                                                      \
        for (long i = 0; i < p->columns; ++i)                                                                \
            count += IS_NONZERO(from[i]) ? 1 : 0;                                                            \
        starts[row] = count;                                                                                 \
    }

#define GATHER(type)                                                                                         \
    {                                                                                                        \
        global const type *from = (global const type *)dense + row * p->columns;                             \
        global type *to = (global type *)values;                                                             \
        for (long i = 0; i < p->columns; ++i) {                                                              \
            if (!IS_NONZERO(from[i]))                                                                        \
                continue;                                                                                    \
            to[at] = from[i];                                                                                \
            set_number(indices, p->has_wide_indices, at, i);                                                 \
            if (p->encoding == SPARSE_COO)                                                                   \
                set_number(pointers, p->has_wide_pointers, at, row);                                         \
            ++at;                                                                                            \
        }                                                                                                    \
    }

#define PACK(type)                                                                                           \
    {                                                                                                        \
        global const type *from = (global const type *)dense + row * p->columns;                             \
        global type *to = (global type *)values;                                                             \
        global ulong *masks = (global ulong *)indices + row * (p->columns / 64);                             \
        for (long i = 0; i < p->columns; i += 64) {                                                          \
            ulong mask = 0;                                                                                  \
            for (int j = 0; j < 64; ++j) {                                                                   \
                if (!IS_NONZERO(from[i + j]))                                                                \
                    continue;                                                                                \
                to[at++] = from[i + j];                                                                      \
                mask |= 1ul << j;                                                                            \
            }                                                                                                \
            masks[i / 64] = mask;                                                                            \
        }                                                                                                    \
    }

// starts: the counts, or the number of values before each row and, at the end, of all.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void
sparsify(global const uchar *dense, global uchar *values, global uchar *pointers, global uchar *indices,
         global long *starts, sparse_problem p) {
    const long row = get_global_id(0);
    if (HAS(SPARSIFY_COUNTS)) {
        FOR_TYPE_OF_BITS(p->bits, COUNT)
        return;
    }
    long at = starts[row];
    if (p->encoding != SPARSE_COO)
        set_number(pointers, p->has_wide_pointers, row, at);
    if (p->encoding == SPARSE_CSR && row == p->rows - 1)
        set_number(pointers, p->has_wide_pointers, p->rows, starts[p->rows]);
    if (p->encoding == SPARSE_PACKED)
        FOR_TYPE_OF_BITS(p->bits, PACK)
    else
        FOR_TYPE_OF_BITS(p->bits, GATHER)
}

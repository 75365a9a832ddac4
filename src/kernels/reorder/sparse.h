// SPDX-License-Identifier: Apache-2.0
// Pointers and indices of sparse matrices.
#pragma once

#include "args/sparse_args.h"

typedef global const struct sparse_problem *sparse_problem;

static inline long number_at(global const uchar *p, int is_wide, long i) {
    return is_wide ? ((global const long *)p)[i] : ((global const int *)p)[i];
}

static inline void set_number(global uchar *p, int is_wide, long i, long value) {
    if (is_wide)
        ((global long *)p)[i] = value;
    else
        ((global int *)p)[i] = (int)value;
}

// Runs DO(type) with the unsigned type of the problem's elements.
#define FOR_TYPE_OF_BITS(bits, DO)                                                                           \
    switch (bits) {                                                                                          \
    case 8:                                                                                                  \
        DO(uchar);                                                                                           \
        break;                                                                                               \
    case 16:                                                                                                 \
        DO(ushort);                                                                                          \
        break;                                                                                               \
    case 32:                                                                                                 \
        DO(uint);                                                                                            \
        break;                                                                                               \
    case 64:                                                                                                 \
        DO(ulong);                                                                                           \
        break;                                                                                               \
    }

// SPDX-License-Identifier: Apache-2.0
// The weights' data type, and packed integer weights (UNIT_PACKED) as they lie in memory.
#pragma once

#include "lanes.h"
#include "spec.h"

static inline int wei_bits() {
    return type_bits(spec_wei_dt());
}
static inline bool wei_is_integer() {
    return type_is_integer(spec_wei_dt());
}
static inline bool wei_is_int4() {
    return wei_is_integer() && wei_bits() == 4;
}

// Of K, in a row of a panel of packed weights; and rows that the weights have. Their panels may have more of
// them, where they are a part of a larger tensor.
static inline int packed_row_length() {
    return wei_is_integer() ? 4 : 1;
}
static inline int packed_rows(global const struct matmul_problem *p) {
    return (int)((p->k + packed_row_length() - 1) / packed_row_length());
}

#if WORK_ITEMS == 1
// The weights of a tile: the matrix of the batch, the tile's columns.
struct wei_source {
    bytes wei;
    long begin, n0;
    int columns;
};

static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    return (struct wei_source){wei, begin, n0, columns};
}
#endif

#if WORK_ITEMS == 1 && LANES > 1
// The fours of K of LANES columns, from element i on: 8 bits each, or 4 bits each in the low 16.
static inline vec_i load_packed(bytes wei, long i) {
    if (!wei_is_int4())
        return load_column_s32((global const int *)(wei + i));
#if LANES == 16
    return convert_int16(vload16(0, (global const ushort *)(wei + (i >> 1))));
#else
    return convert_int8(vload8(0, (global const ushort *)(wei + (i >> 1))));
#endif
}
#endif

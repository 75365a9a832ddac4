// SPDX-License-Identifier: Apache-2.0
// The weights of a work-item's tile: where its columns begin, and vector loads of packed
// elements of 8, 4 and 2 bits.
#pragma once

#include "owner/work_item.h"
#include "policy/shared/packed.h"

// The weights of a tile. begin: element offset of the batch's matrix; n0, columns: the tile's
// columns.
struct wei_source {
    bytes wei;
    long begin, n0;
    int columns;
};

static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    return (struct wei_source){wei, begin, n0, columns};
}

// Whether packed weights have four elements of K of each column side by side.
static inline bool wei_in_quads() {
    return wei_bits() <= 8;
}

// The element at which the block of the tile's weights from k0 on begins.
static inline long block_begin(const struct wei_source *w, global const struct matmul_problem *p, long k0) {
    if (spec_wei_unit() != UNIT_PACKED)
        return w->begin + w->n0 * p->wei.column + k0 * p->wei.row;
    const int unit = wei_in_quads() ? 4 : 1;
    return w->begin + w->n0 / PACKED_N * p->wei_panel + w->n0 % PACKED_N * unit + k0 * PACKED_N;
}

#if LANES > 1
#if LANES == 16
#define LOADED_NIBBLES(p) convert_int16(vload16(0, (global const ushort *)(p)))
#define SHIFTS_OF_QUARTERS ((int16)(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6))
// Four ints, each four times.
static inline vec_i load_each_four_times(global const int *p) {
    const int4 x = vload4(0, p);
    return __builtin_shufflevector(x, x, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
}
#else
#define LOADED_NIBBLES(p) convert_int8(vload8(0, (global const ushort *)(p)))
#define SHIFTS_OF_QUARTERS ((int8)(0, 2, 4, 6, 0, 2, 4, 6))
static inline vec_i load_each_four_times(global const int *p) {
    const int2 x = vload2(0, p);
    return __builtin_shufflevector(x, x, 0, 0, 0, 0, 1, 1, 1, 1);
}
#endif

// The bits from an element to the next one in what load_packed() returns.
static inline int quad_bits() {
    return wei_bits() == 4 ? 4 : 8;
}

// Loads the quads (four elements of K) of LANES columns, from element i on: four bytes each, or
// four nibbles each in the low 16 bits. In memory, 2-bit elements of K of four columns share a byte.
static inline vec_i load_packed(bytes wei, long i) {
    if (wei_bits() == 4)
        return LOADED_NIBBLES(wei + (i >> 1));
    if (wei_bits() == 2)
        return (load_each_four_times((global const int *)(wei + (i >> 2))) >> SHIFTS_OF_QUARTERS) &
               0x03030303;
    return load_column_s32((global const int *)(wei + i));
}
#endif

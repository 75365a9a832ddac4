// SPDX-License-Identifier: Apache-2.0
// The type of the weights, and the shape of packed weights (UNIT_PACKED) in memory.
#pragma once

#include "problem/spec.h"

static inline int wei_bits() {
    return type_bits(spec_wei_dt());
}
static inline bool wei_is_integer() {
    return type_is_integer(spec_wei_dt());
}
static inline bool wei_is_small_float() {
    return !wei_is_integer() && wei_bits() <= 8;
}
static inline bool wei_is_f8() {
    return !wei_is_integer() && wei_bits() == 8;
}
static inline bool wei_is_small_int() { // s4, u4, u2
    return wei_is_integer() && wei_bits() < 8;
}
// For integers.
KNOWS(INTEGERS_OF_WEIGHTS, BIT_S8 | BIT_U8 | BIT_S4 | BIT_U4 | BIT_U2);
static inline bool wei_is_signed() {
    return spec_wei_dt() == DT_S8 || spec_wei_dt() == DT_S4;
}

static inline uint lowest_bits(int count) { // count: up to 32
    return count == 32 ? 0xffffffff : (1u << count) - 1;
}

// packed_row_length: elements of K in a row of a packed panel. packed_rows: rows of a panel that
// have elements of K. A panel may have more rows if the weights are part of a larger tensor.
static inline int packed_row_length() {
    return wei_bits() <= 8 ? 4 : 1;
}
static inline int packed_rows(global const struct matmul_problem *p) {
    return (int)((p->k + packed_row_length() - 1) / packed_row_length());
}

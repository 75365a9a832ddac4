// SPDX-License-Identifier: Apache-2.0
// Shared by all policies for Intel GPUs.
#pragma once

#include "policy/shared/packed.h"
#include "problem/spec.h"

#define WEI_SHIFT 0

// Bits of a weight in registers: loads make bytes of 2-bit weights.
static inline int loaded_bits() {
    return wei_bits() == 2 ? 8 : wei_bits();
}
static inline bool wei_is_nibbles() { // s4, u4
    return wei_is_integer() && loaded_bits() == 4;
}

// Ints of a row of a packed panel of 2-bit weights. An int has four elements of K of four columns, which
// share its bytes.
#define QUARTERS_ROW (PACKED_N / 4)
// The bytes of column x, whose int is number x / 4 of the row.
static inline uint bytes_of_quarters(uint quarters, uint x) {
    return quarters >> (x & 3) * 2 & 0x03030303;
}

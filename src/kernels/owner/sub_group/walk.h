// SPDX-License-Identifier: Apache-2.0
// Addresses of scales, zero points and sums of src that go on from group to group of K. To compute
// an address anew for each group takes three times as many cycles.
#pragma once

#include "problem/k_block.h"

// Whether what changes along K changes with each block, and there are registers for addresses. Types
// of 4 bits have no address for each element.
static inline bool can_walk(int data_type) {
    return LANES == 16 && HAS(FLAG_SUM_BITS) && HAS(FLAG_EQUAL_GROUPS) && HAS(FLAG_WHOLE_SEGMENTS) &&
           data_type != 0 && type_bits(data_type) >= 8;
}

// The address of an element, less a step of `step` elements.
static inline ulong address_before(ulong address, int data_type, parameter_index at, long step) {
    return address + ((long)at - step) * (type_bits(data_type) / 8);
}

// Goes on by a step, and loads the element there. (Compilers move a step after the load to the end of
// the loop, in a basic block of its own.)
static inline float walk_scale(__private ulong *at, int data_type, long step) {
    *at += step * (type_bits(data_type) / 8);
    return load_scale_element((bytes)*at, data_type, 0);
}
static inline int walk_integer(__private ulong *at, int data_type, long step) {
    *at += step * (type_bits(data_type) / 8);
    return load_int((bytes)*at, data_type, 0);
}

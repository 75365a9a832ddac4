// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of a tile. data_type 0 stands for a host scalar.
#pragma once

#include "tensor.h"

static inline float load_scale(ulong address, int data_type, float host, long offset) {
    return data_type == 0 ? host : load_float((bytes)address, data_type, offset);
}

static inline int load_zero_point(ulong address, int data_type, int host, long offset) {
    return data_type == 0 ? host : load_int((bytes)address, data_type, offset);
}

// Without the division for each column, where columns have no groups.
static inline long parameter_offset(tensor t, long column) {
    return t->column_group == 1 ? column * t->column : column_offset(t, column);
}

// SPDX-License-Identifier: Apache-2.0
// Loads of scales and zero points. data_type 0 stands for a host scalar, whose value is host.
#pragma once

#include "problem/tensor.h"

static inline float load_scale(ulong address, int data_type, float host, long offset) {
    return data_type == 0 ? host : load_scale_element((bytes)address, data_type, offset);
}

static inline int load_zero_point(ulong address, int data_type, int host, long offset) {
    return data_type == 0 ? host : load_int((bytes)address, data_type, offset);
}

// As column_offset, but without a division where columns have no groups.
static inline long parameter_offset(tensor t, long column) {
    return t->column_group == 1 ? column * t->column : column_offset(t, column);
}

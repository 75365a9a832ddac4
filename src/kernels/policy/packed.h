// SPDX-License-Identifier: Apache-2.0
// The weights' data type, and packed integer weights (UNIT_PACKED) as they lie in memory.
#pragma once

#include "spec.h"

static inline bool wei_is_int4() {
    return spec_wei_dt() == DT_S4 || spec_wei_dt() == DT_U4;
}
static inline bool wei_is_integer() {
    return wei_is_int4() || spec_wei_dt() == DT_S8 || spec_wei_dt() == DT_U8;
}
static inline int wei_bits() {
    return wei_is_int4() ? 4 : wei_is_integer() ? 8 : spec_wei_dt() == DT_F32 ? 32 : 16;
}

// Of K, in a row of a panel of packed weights; and rows that the weights have. Their panels may have more of
// them, where they are a part of a larger tensor.
static inline int packed_row_length() {
    return wei_is_integer() ? 4 : 1;
}
static inline int packed_rows(global const struct matmul_problem *p) {
    return (int)((p->k + packed_row_length() - 1) / packed_row_length());
}

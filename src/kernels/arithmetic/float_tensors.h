// SPDX-License-Identifier: Apache-2.0
// Elements of tensors that are f32, f16 or bf16: 16 of them, or one. i: the first element.
#pragma once

#include "arithmetic/data_type.h"

static inline float16 load16(bytes p, int type, long i) {
    return type == DT_F32 ? load16_f32(p, i) : type == DT_F16 ? load16_f16(p, i) : load16_bf16(p, i);
}

static inline float load1(bytes p, int type, long i) {
    return type == DT_F32 ? load_f32(p, i) : type == DT_F16 ? load_f16(p, i) : load_bf16(p, i);
}

static inline void store16(global uchar *p, int type, long i, float16 x) {
    if (type == DT_F32)
        store16_f32(p, i, x);
    else if (type == DT_F16)
        store16_f16(p, i, x);
    else
        store16_bf16(p, i, x);
}

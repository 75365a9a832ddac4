// SPDX-License-Identifier: Apache-2.0
// Rows of src of any type as f32.
#pragma once

#include OWNER

#include "arithmetic/halves.h"
#include "problem/spec.h"

// a[k]: one row of src from element i on, as f32. A function that is not inlined: inlined into
// every variant of multiply it took a fifth of the compile time.
static __attribute__((noinline)) void load_row(bytes src, long i, long stride, int length,
                                               __private float *a) {
    int k = 0;
    if (stride == 1 && is_whole_byte(spec_src_dt(), i))
#pragma unroll 1
        for (; k + 16 <= length; k += 16)
            vstore16(load_wide16(src, spec_src_dt(), i + k), 0, a + k);
    for (; k < length; ++k)
        a[k] = load_float(src, spec_src_dt(), i + k * stride);
}

// SPDX-License-Identifier: Apache-2.0
// Sums of an integer src over each segment of K, as a caller would pass them as precomputed
// reductions.
#include "args/matmul_args.h"
#include "arithmetic/data_type.h"
#include "problem/spec.h"
#include "problem/tensor.h"

static inline int sum_of(bytes src, long begin, long stride, long length) {
    int sum = 0;
    long k = 0;
    if (spec_src_unit() == UNIT_COLUMN && length >= 16) {
        int16 sums = 0;
        for (; k + 16 <= length; k += 16)
            sums += src_is_signed() ? convert_int16(vload16(0, (global const char *)src + begin + k))
                                    : convert_int16(vload16(0, src + begin + k));
        const int8 eight = sums.lo + sums.hi;
        const int4 four = eight.lo + eight.hi;
        sum = four.x + four.y + four.z + four.w;
    }
    for (; k < length; ++k)
        sum += load_int(src, spec_src_dt(), begin + k * stride);
    return sum;
}

// Grid: groups of REDUCE_SEGMENTS segments of K; rows of dst, counted over (batch.., m). Rows of
// src that are broadcast are summed again for each. sums: [src batch.., M, K / segment].
kernel void reduce_src(bytes src, global int *sums, global const struct matmul_problem *p) {
    const struct row_index r = row_at(p, get_global_id(1));
    const long begin = row_offset(p, &p->src, &r);
    const long out = row_offset(p, &p->reductions, &r);
    const long first = get_global_id(0) * REDUCE_SEGMENTS;
    const long end = min(first + REDUCE_SEGMENTS, (p->k + p->segment - 1) / p->segment);
    for (long s = first; s < end; ++s) {
        const long k = s * p->segment, length = min(p->segment, p->k - k);
        sums[out + s * p->reductions.column] = sum_of(src, begin + k * p->src.column, p->src.column, length);
    }
}

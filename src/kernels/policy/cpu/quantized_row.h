// SPDX-License-Identifier: Apache-2.0
// The only row of a matmul's src, which whoever computes tiles quantises to s8 first: a launch of its own
// takes longer than doing that more than once, while tiles are few. The values, their scales and sums stay in
// the first-level cache.
#pragma once

#include "args/matmul_args.h"
#include "quantize/quantize_block.h"

struct quantized_row {
    uchar values[MOST_QUANTIZED];
    float scales[MOST_QUANTIZED_GROUPS];
    int sums[MOST_QUANTIZED_GROUPS];
    struct matmul_arguments arguments; // those of the launch, with the addresses of the above
};

// Fills the row with the groups of a range of K. The kernel's functions read global memory, and a CPU has one
// address space.
static inline void quantize_row(bytes src, global const struct matmul_problem *p,
                                const struct matmul_arguments *given, long range,
                                __private struct quantized_row *row) {
    const long group = p->src_scale.column_group, part = p->segment, k = p->k;
    const long k_begin = range * p->k_range, k_end = min(k_begin + p->k_range, k);
    global uchar *values = (global uchar *)(ulong)row->values;
    long g = k_begin / group;
    const long blocks_end = spec_vectors() ? min((k_end + group - 1) / group, k / group) : g;
    for (; g < blocks_end; g += BLOCK_GROUPS)
        quantize_block(src, g * group, values, g * group, (int)min((long)BLOCK_GROUPS, blocks_end - g),
                       row->scales + g, row->sums + g);
    for (g = min(g, blocks_end); g * group < k_end; ++g) {
        const long begin = g * group, end = min(begin + group, k);
        const struct range r = range_of(src, begin, end - begin);
        for (long i = begin; i < end; i += part) {
            const long length = min(part, end - i);
            int sum = 0;
            if (r.finite)
                sum = quantize_part(src, i, values, i, length, r);
            else
                clear(values, i, length);
            row->sums[i / part] = sum;
        }
        row->scales[g] = r.scale;
    }
    row->arguments = *given;
    row->arguments.src_scale = (ulong)row->scales;
    row->arguments.reductions = (ulong)row->sums;
}

#define QUANTIZE_ROW(src, p, args, range)                                                                    \
    struct quantized_row own_row;                                                                            \
    if (spec_quantized_dt()) {                                                                               \
        quantize_row(src, p, args, range, &own_row);                                                         \
        src = (bytes)(ulong)own_row.values;                                                                  \
        args = &own_row.arguments;                                                                           \
    }

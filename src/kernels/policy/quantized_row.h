// SPDX-License-Identifier: Apache-2.0
// The only row of a matmul's src, which the tiles quantise to s8 themselves: a launch of its own takes longer
// than doing that again in each tile, while these are few. The values, their scales and sums stay in the
// first-level cache.
#pragma once

#include "matmul_args.h"
#include "quantize_args.h"
#include "spec.h"

// The type of src before; 0: nothing is quantised.
static inline int spec_quantized_dt() {
    return __spirv_SpecConstant(SPEC_QUANTIZED_DT, 0);
}
static inline int spec_vectors() {
    return __spirv_SpecConstant(SPEC_QUANTIZED_VECTORS, 0);
}

static inline int is_u8() {
    return 0;
}
static inline int most() {
    return 127;
}
static inline float scale_in_its_type(float scale, float rest) {
    return fmax(scale, 0x1p-126f);
}
static inline float16 load_quantized16(bytes src, long i) {
    return spec_quantized_dt() == DT_F32   ? load16_f32(src, i)
           : spec_quantized_dt() == DT_F16 ? load16_f16(src, i)
                                           : load16_bf16(src, i);
}
static inline float load_quantized(bytes src, long i) {
    return spec_quantized_dt() == DT_F32   ? load_f32(src, i)
           : spec_quantized_dt() == DT_F16 ? load_f16(src, i)
                                           : load_bf16(src, i);
}

#define NEEDS_SUMS HAS(FLAG_REDUCTIONS)
#include "quantize_block.h"

struct quantized_row {
    uchar values[MOST_QUANTIZED];
    float scales[MOST_QUANTIZED_GROUPS];
    int sums[MOST_QUANTIZED_GROUPS];
    struct matmul_arguments arguments; // those of the launch, with the addresses of the above
};

// Fills the row. The kernel's functions read global memory, and a CPU has one address space.
static inline void quantize_row(bytes src, global const struct matmul_problem *p,
                                __private const struct matmul_arguments *given,
                                __private struct quantized_row *row) {
    const long group = p->src_scale.column_group, part = p->segment, k = p->k;
    global uchar *values = (global uchar *)(ulong)row->values;
    const int in_blocks = spec_vectors() ? (int)(k / group) : 0; // groups
    for (int g = 0; g < in_blocks; g += BLOCK_GROUPS)
        quantize_block(src, g * group, values, g * group, min(BLOCK_GROUPS, in_blocks - g), row->scales + g,
                       row->sums + g);
    int number = in_blocks, sums = in_blocks;
    for (long g = in_blocks * group; g < k; g += group) {
        const long end = min(g + group, k);
        const struct range r = range_of(src, g, end - g);
        for (long i = g; i < end; i += part) {
            const long length = min(part, end - i);
            int sum = 0;
            if (r.finite)
                sum = quantize_part(src, i, values, i, length, r);
            else
                clear(values, i, length);
            row->sums[sums++] = sum;
        }
        row->scales[number++] = r.scale;
    }
    row->arguments = *given;
    row->arguments.src_scale = (ulong)row->scales;
    row->arguments.reductions = (ulong)row->sums;
}

#define QUANTIZE_ROW(src, p, given)                                                                          \
    struct quantized_row own_row;                                                                            \
    if (spec_quantized_dt()) {                                                                               \
        quantize_row(src, p, given, &own_row);                                                               \
        src = (bytes)(ulong)own_row.values;                                                                  \
    }
#define ARGUMENTS (spec_quantized_dt() ? &own_row.arguments : &args)

// SPDX-License-Identifier: Apache-2.0
// Converts src to f16 and puts its elements of K in the order in which rows for Intel GPUs multiply them
// with weights of f8 and f4 (policy/xe/xe_small_floats.h). In a launch of its own each element is converted
// once, and not by every sub-group that needs it. src of f16 and bf16 keeps its type. Scales are applied
// where the product is exact as f16.
#include "args/src_copy_args.h"
#include "arithmetic/data_type.h"
#include "problem/spec.h"
#include "problem/tensor.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// The element of a group of eight that comes at place i.
static inline int element_at(int i, int unit) {
    if (unit == 8)
        return (i & 1) * 4 + (i >> 1);
    return unit == 4 ? (i & 4) | (i & 1) << 1 | (i >> 1 & 1) : i;
}

// Element (row, k) of a tensor, of which `begin` is where the matrix begins.
static inline long offset_of(tensor t, long begin, long row, long k) {
    return begin + row / t->row_group * t->row + k / t->column_group * t->column;
}

// dst: [src batch.., m, pitch] of f16 or bf16. scales: with SPEC_SRC_SCALE_DT. Grid: groups of eight
// elements of K; rows of src, counted over (batch.., m).
kernel void arrange_src(bytes src, global ushort *dst, global const struct arrange_problem *p, bytes scales) {
    const long row = get_global_id(1), first = (long)get_global_id(0) * 8, m = row % p->m;
    long in_src = p->src.offset0, in_scales = p->scale.offset0, rest = row / p->m;
    for (int d = p->batch_ndims - 1; d >= 0; --d) {
        in_src += rest % p->batch_dims[d] * p->src.batch[d];
        in_scales += rest % p->batch_dims[d] * p->scale.batch[d];
        rest /= p->batch_dims[d];
    }
    ushort halves[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const long k = first + element_at(i, p->unit);
        halves[i] = 0;
        if (k >= p->k)
            continue;
        const long at = offset_of(&p->src, in_src, m, k);
        if (type_bits(spec_src_dt()) == 16) {
            halves[i] = ((global const ushort *)src)[at];
            continue;
        }
        float x = load_float(src, spec_src_dt(), at);
        if (spec_src_scale_dt() != 0)
            x *= load_scale_element(scales, spec_src_scale_dt(), offset_of(&p->scale, in_scales, m, k));
        halves[i] = as_ushort((half)x);
    }
    vstore8(vload8(0, halves), 0, dst + row * p->pitch + first);
}

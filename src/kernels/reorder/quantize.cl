// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation: rows of f32, f16 or bf16 to s8, or to u8 with zero points. Each group of K
// gets a scale. On request the kernel also writes sums of the quantised values. Memory is read
// once (quantize_group.h).
#define WITHOUT_SMALL_FLOATS
#include "reorder/quantize_groups.h"
#include "reorder/work_groups.h"

// Grid: work-items of units_per_item units. A unit is the longer of a group and a reduction, a part
// the shorter one (reorder_args.h).
static inline void quantize_units(bytes src, global uchar *dst, global const struct quantize_problem *p,
                                  const struct reorder_arguments *args, long x, long y, long z) {
    (void)y, (void)z;
    const long first = x * p->units_per_item;
    const long end = min(first + p->units_per_item, p->units);
    long row = first / p->units_of_row, unit_of_row = first % p->units_of_row;
    const long number = row * p->groups_of_row + unit_of_row * p->groups_of_unit;
    const struct group_lengths lengths = {p->row, p->group, p->part, p->parts_of_reduction};
    struct group_results results = {
        (global uchar *)args->dst_scale, number, (global int *)args->dst_zp + number,
        (global int *)args->reductions + row * p->reductions_of_row + unit_of_row * p->reductions_of_unit};
    for (long u = first; u < end; ++row, unit_of_row = 0) {
        long from = p->src_offset, to = p->dst_offset, rest = row;
        for (int d = p->row_ndims - 1; d >= 0; --d) {
            const long index = d ? rest % p->row_dims[d] : rest;
            rest = d ? rest / p->row_dims[d] : 0;
            from += index * p->src_strides[d];
            to += index * p->dst_strides[d];
        }
        for (; unit_of_row < p->units_of_row && u < end; ++unit_of_row, ++u) {
            const long at = unit_of_row * p->unit;
            quantize_groups(src, from, dst, to, at, min(at + p->unit, p->row), &lengths, &results);
        }
    }
}

KERNEL_OF_WORK_GROUPS(quantize, struct quantize_problem, quantize_units)

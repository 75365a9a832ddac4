// SPDX-License-Identifier: Apache-2.0
// Sums of an integer src over segments of K, in one pass: what a caller would pass as precomputed reductions.
#include "data_type.h"
#include "matmul_args.h"
#include "spec.h"
#include "tensor.h"

// Grid: segments of K x rows of src (batch and m together, row-major over dst's batch; broadcast rows
// repeat).
kernel void reduce_src(bytes src, global int *sums, global const struct matmul_problem *p) {
    const long segment = get_global_id(0);
    const long linear = get_global_id(1);
    const struct row_index r = row_at(p, linear);
    const long begin = row_offset(p, &p->src, &r) + segment * p->segment * p->src.column;
    int sum = 0;
    for (long k = 0; k < p->segment; ++k)
        sum += load_int(src, spec_src_dt(), begin + k * p->src.column);
    sums[row_offset(p, &p->reductions, &r) + segment * p->reductions.column] = sum;
}

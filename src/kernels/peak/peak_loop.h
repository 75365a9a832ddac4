// SPDX-License-Identifier: Apache-2.0
// Measures the rate of an instruction that multiplies and adds: a loop of it on vectors in registers.
// The row in kernels.def names the kernel, PEAK. The source that includes this defines
//   factor_vec, sum_vec         the vectors
//   SUMS                        independent sums: enough to hide the latency of the instruction
//   MULTIPLY_ADD(sum, a, b)     the sum of `sum` and the products of a and b
//   LANES                       optional: the work-items of a sub-group, which execute DPAS together. With it
//                               SUMS and factor_vec are defined here
#pragma once

#ifdef LANES
typedef int8 factor_vec;
#define SUMS 8 // of 8 registers: with the factors at most 80 of 128
#define ATTRIBUTES __attribute__((intel_reqd_sub_group_size(LANES)))
#else
// The hint keeps the OpenCL CPU runtime from also making vectors of several work-items.
#define ATTRIBUTES __attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(float16)))
#endif

// Each work-item executes steps * SUMS instructions. factors: two vectors. sums: one vector for each
// work-item.
ATTRIBUTES kernel void PEAK(global const factor_vec *factors, global sum_vec *sums, long steps) {
    const factor_vec a = factors[0], b = factors[1];
    (void)b; // for instructions that need one factor beside the sum
    sum_vec sum[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        sum[i] = (sum_vec)i;
#pragma unroll 1
    for (long step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            sum[i] = MULTIPLY_ADD(sum[i], a, b);
    }
    sum_vec total = (sum_vec)0;
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        total += sum[i];
    sums[get_global_id(0)] = total;
}

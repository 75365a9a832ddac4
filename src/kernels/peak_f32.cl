// SPDX-License-Identifier: Apache-2.0
// Measures the rate of f32 multiply-adds: a loop of fma on 16-wide vectors in registers.

// Independent sums: enough to hide the latency of the instruction. With the two factors they fill
// the registers.
#define SUMS 28

// Each work-item executes steps * SUMS instructions of 16 multiply-adds. factors: two vectors.
// sums: one vector for each work-item.
kernel void peak_f32(global const float16 *factors, global float16 *sums, long steps) {
    const float16 a = factors[0], b = factors[1];
    float16 sum[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        sum[i] = (float16)i;
#pragma unroll 1
    for (long step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            sum[i] = fma(a, b, sum[i]);
    }
    float16 total = (float16)0.f;
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        total += sum[i];
    sums[get_global_id(0)] = total;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AVX512-VNNI multiply-adds (u8 x s8 to s32): a loop of vpdpbusd on registers.

// The instruction by its LLVM name, which SPIR-V passes on to the device's compiler.
int16 __attribute__((overloadable))
dot_add(int16 sum, int16 u8s, int16 s8s) __asm("llvm.x86.avx512.vpdpbusd.512");

// Independent sums: enough to hide the latency of the instruction. With the two factors they fill
// the registers.
#define SUMS 28

// Each work-item executes steps * SUMS instructions of 64 multiply-adds. factors: two vectors.
// sums: one vector for each work-item.
kernel void peak_int8(global const int16 *factors, global int16 *sums, long steps) {
    const int16 a = factors[0], b = factors[1];
    int16 sum[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        sum[i] = (int16)i;
#pragma unroll 1
    for (long step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            sum[i] = dot_add(sum[i], a, b);
    }
    int16 total = (int16)0;
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        total ^= sum[i];
    sums[get_global_id(0)] = total;
}

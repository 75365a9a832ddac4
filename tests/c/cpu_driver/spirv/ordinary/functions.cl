// SPDX-License-Identifier: Apache-2.0
__attribute__((noinline)) static float one(float x, private float *more, global const float *table) {
    *more += table[(int)x & 3];
    return x * 2;
}

__attribute__((noinline)) int2 two(int2 v, local int *scratch) {
    scratch[get_local_id(0)] = v.x;
    barrier(CLK_LOCAL_MEM_FENCE);
    return v + scratch[0];
}

__attribute__((always_inline)) inline void three(global int *a) {
    *a = 3;
}

kernel void calls(global float *a, global int2 *b, local int *scratch) {
    const size_t i = get_global_id(0);
    float more = 0;
    a[i] = one(a[i], &more, a) + more;
    b[i] = two(b[i], scratch);
    three((global int *)&b[i]);
}

__attribute__((const, noinline)) int pure(int x) {
    return x * x;
}

kernel void calls_kernel(global float *a, global int2 *b, local int *scratch) {
    calls(a, b, scratch);
    b[0].x = pure(b[0].y);
}

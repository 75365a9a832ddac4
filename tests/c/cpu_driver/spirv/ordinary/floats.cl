// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void compare(global const float *x, global const float *y, global int *out) {
    const size_t i = get_global_id(0);
    out[i] = isnan(x[i]) | isinf(y[i]) << 1 | isgreater(x[i], y[i]) << 2 | signbit(x[i]) << 3 |
             isordered(x[i], y[i]) << 4;
}

kernel void halves(global const half *x, global half4 *y, global const float *z, global half *to) {
    const size_t i = get_global_id(0);
    y[i] = y[i] * (half4)(x[i]) + (half4)(1.0h, 2.0h, 0.5h, -1.0h);
    vstore_half_rte(z[i] + vload_half(i, x), i, to);
}

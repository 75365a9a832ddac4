// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void functions(global const float *x, global float *y) {
    const size_t i = get_global_id(0);
    y[i] = sin(x[i]) + exp2(x[i]) * pow(x[i], 1.5f) - native_exp(x[i]) + half_sqrt(x[i]) + rsqrt(x[i]);
}

kernel void parts(global const float *x, global float *y, global int *e) {
    const size_t i = get_global_id(0);
    float whole;
    int quotient;
    y[i] = fract(x[i], &whole) + frexp(x[i], &e[i]) + remquo(x[i], 3.0f, &quotient) + whole + quotient;
}

kernel void compare(global const float *x, global const float *y, global int *out) {
    const size_t i = get_global_id(0);
    out[i] = isnan(x[i]) | isinf(y[i]) << 1 | isgreater(x[i], y[i]) << 2 | signbit(x[i]) << 3 |
             isordered(x[i], y[i]) << 4;
}

kernel void doubles(global const double *x, global double *y) {
    const size_t i = get_global_id(0);
    y[i] = fma(x[i], 2.0, sqrt(fabs(y[i]))) + ldexp(x[i], 3) + atan2(x[i], y[i]);
}

kernel void halves(global const half *x, global half4 *y, global const float *z, global half *to) {
    const size_t i = get_global_id(0);
    y[i] = y[i] * (half4)(x[i]) + (half4)(1.0h, 2.0h, 0.5h, -1.0h);
    vstore_half_rte(z[i] + vload_half(i, x), i, to);
}

kernel void halves_in_vectors(global const half *x, global half *y) {
    const size_t i = get_global_id(0);
    vstore_half4(vload_half4(i, x) * 2.0f, i, y);
    vstorea_half8_rtz(vloada_half8(i, x), i, y);
}

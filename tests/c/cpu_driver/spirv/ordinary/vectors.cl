// SPDX-License-Identifier: Apache-2.0
kernel void of_three(global const float *in, global float3 *out) {
    const size_t i = get_global_id(0);
    const float3 v = vload3(i, in);
    out[i] = cross(v, out[i]) + v.zyx;
    vstore3(out[i], 0, (global float *)out);
}

kernel void swizzle(global float8 *a, global short16 *b) {
    const size_t i = get_global_id(0);
    a[i].s0246 = a[i].s7531;
    b[i].hi = b[i].even;
    b[i].sF = 3;
}

kernel void widen(global const char4 *a, global float4 *b, global ulong4 *c) {
    const size_t i = get_global_id(0);
    b[i] = convert_float4(a[i]) * as_float4((int4)(0x3f800000));
    c[i] = convert_ulong4_sat(a[i]) + (ulong4)(dot(b[i], b[i]) > length(b[i]));
}

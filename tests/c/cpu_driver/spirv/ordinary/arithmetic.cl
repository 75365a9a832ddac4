// SPDX-License-Identifier: Apache-2.0
kernel void divide(global const int *a, global const int *b, global int *out) {
    const int i = get_global_id(0);
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = a[i] % b[i];
}

kernel void wide(global const long *a, global ulong *b, uint n) {
    const ulong i = get_global_id(0);
    b[i] = mul_hi(b[i], (ulong)a[i]) + (ulong)(a[i] >> n) * 1000000007ul;
}

kernel void bits(global uint *a) {
    const size_t i = get_global_id(0);
    a[i] = rotate(a[i], 5u) ^ popcount(a[i]) ^ clz(a[i]) ^ upsample((ushort)a[i], (ushort)3) ^
           (a[i] << (i & 31));
}

kernel void convert(global const float *in, global uchar *bytes, global int *words, global double *wide) {
    const size_t i = get_global_id(0);
    bytes[i] = convert_uchar_sat_rte(in[i]);
    words[i] = convert_int_rtz(in[i]) + convert_int_sat_rtn(in[i]);
    wide[i] = in[i];
}

// SPDX-License-Identifier: Apache-2.0
kernel void dot_products(global const char4 *a, global const uchar4 *b, global int *out) {
    const size_t i = get_global_id(0);
    out[i] = dot(a[i], a[i]) + (int)dot(b[i], b[i]) + dot_acc_sat(a[i], b[i], out[i]);
}

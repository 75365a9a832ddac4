// SPDX-License-Identifier: Apache-2.0
// The kernels of test_ze_runtime.cpp.
int __spirv_SpecConstant(int id, int default_value);

// out[i] = in[i] * factor + addend, the factor being specialisation constant 0 (3 unless set).
kernel void scale_add(global int *out, global const int *in, int addend) {
    const size_t i = get_global_id(0);
    out[i] = in[i] * __spirv_SpecConstant(0, 3) + addend;
}

// One work-item that takes a while, so that work appended after it could overtake it.
kernel void slow_fill(global int *out, int n, int value) {
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < n; i++)
            out[i] = out[i] * 7 + round;
    for (int i = 0; i < n; i++)
        out[i] = value;
}

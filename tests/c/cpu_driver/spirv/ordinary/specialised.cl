// SPDX-License-Identifier: Apache-2.0
int __spirv_SpecConstant(int id, int value);

kernel void specialised(global int *a) {
    const int n = __spirv_SpecConstant(3, 5);
    for (int i = 0; i < n; i++)
        a[i] = n * __spirv_SpecConstant(4, 11);
}

// SPDX-License-Identifier: Apache-2.0
kernel void print(global const int *a, float4 v) {
    if (get_global_id(0) == 0)
        printf("%d %s %v4f\n", a[0], "text", v);
}

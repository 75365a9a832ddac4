// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of the CPU driver.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

int __spirv_SpecConstant(int id, int default_);

kernel void scale(global const int *a, global int *b, int factor) {
    size_t i = get_global_id(0);
    b[i] = a[i] * factor;
}

kernel void add_one(global int *a) {
    a[get_global_id(0)] += 1;
}

kernel void specialised(global int *out) {
    out[0] = __spirv_SpecConstant(7, 42);
    out[1] = __spirv_SpecConstant(9, 1000);
}

kernel void local_sum(global const int *a, global int *sums, local int *tmp) {
    int l = get_local_id(0);
    tmp[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        int sum = 0;
        for (int i = 0; i < get_local_size(0); i++)
            sum += tmp[i];
        sums[get_group_id(0)] = sum;
    }
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed_size(global int *out) {
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_local_id(1) * 8 + get_local_id(0);
}

kernel __attribute__((intel_reqd_sub_group_size(16))) void sub_groups(global int *out) {
    out[get_global_id(0)] = get_sub_group_size();
}

kernel void many_types(char c, uchar4 u, short s, long l, float f, double d, float3 f3, half h, int8 i8,
                       ulong ul, global double *out) {
    out[0] = c + u.w + s + l + f + d + f3.z + h + i8.s7 + ul;
}

kernel void ids(global ulong *out) {
    size_t i = get_global_linear_id();
    out[i] = get_global_id(0) + 1000 * get_global_id(1) + 1000000 * get_global_id(2);
}

kernel void spin(global volatile int *out, int rounds) {
    int x = get_global_id(0);
    for (int i = 0; i < rounds; i++)
        x = x * 1103515245 + 12345;
    out[get_global_id(0)] = x;
}

kernel void until_told(global volatile int *flag) {
    while (flag[0] == 0)
        ;
}

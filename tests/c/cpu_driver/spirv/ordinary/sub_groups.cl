// SPDX-License-Identifier: Apache-2.0
__attribute__((intel_reqd_sub_group_size(16))) kernel void collective(global int *a, global float *f) {
    const size_t i = get_global_id(0);
    a[i] = sub_group_reduce_add(a[i]) + sub_group_scan_exclusive_max(a[i]) + sub_group_broadcast(a[i], 0);
    f[i] = sub_group_reduce_min(f[i]) + sub_group_all(a[i] > 3) + sub_group_any(a[i] < 3);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
}

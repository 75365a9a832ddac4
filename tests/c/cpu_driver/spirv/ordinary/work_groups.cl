// SPDX-License-Identifier: Apache-2.0
kernel void work_group(global int *a, global int *out) {
    const size_t i = get_global_id(0);
    out[i] =
        work_group_reduce_add(a[i]) + work_group_scan_inclusive_min(a[i]) + work_group_broadcast(a[i], 1);
    out[i] += work_group_all(a[i]) + work_group_any(a[i]);
    work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
}

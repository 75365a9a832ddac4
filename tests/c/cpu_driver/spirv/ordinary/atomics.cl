// SPDX-License-Identifier: Apache-2.0
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

kernel void counters(global int *a, global uint *b, volatile global float *f) {
    local int in_group;
    if (get_local_id(0) == 0)
        in_group = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&in_group);
    atomic_add(a, 3);
    atomic_sub(a + 1, 3);
    atomic_min(b, (uint)get_global_id(0));
    atomic_max(a + 2, (int)get_global_id(0));
    atomic_and(b + 1, 7u);
    atomic_or(b + 2, 8u);
    atomic_xor(b + 3, 9u);
    atomic_xchg(f, 1.0f);
    while (atomic_cmpxchg(a + 3, 0, 1) != 0)
        a[4] += atomic_dec(a + 3);
    barrier(CLK_LOCAL_MEM_FENCE);
    a[5] = in_group;
}

kernel void wide_counters(global long *a, global ulong *b) {
    atom_add(a, 3l);
    atom_min(b, (ulong)get_global_id(0));
    atom_cmpxchg(a + 1, 0l, 1l);
    atom_inc(b + 1);
}

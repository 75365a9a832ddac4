// SPDX-License-Identifier: Apache-2.0
static int sum(const int *values, int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        total += values[i];
    return total;
}

kernel void through_generic(global int *a, constant int *c, local int *l, int n) {
    int own[4] = {1, 2, 3, n};
    l[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int *chosen = n & 1 ? (int *)a : n & 2 ? (int *)l : own;
    a[0] = sum(a, n) + sum(l, 1) + sum(own, 4) + sum(chosen, 2) + c[0];
    if (to_global(chosen))
        a[1] = *to_global(chosen);
    if (to_local(chosen) || get_fence(chosen) == CLK_LOCAL_MEM_FENCE)
        a[2] = 1;
}

kernel void as_integers(global ulong *a, global char *b) {
    a[0] = (ulong)b + (ulong)(global int *)(a[1]);
    b[0] = (b - (global char *)a) > 3 && (global char *)a != b;
}

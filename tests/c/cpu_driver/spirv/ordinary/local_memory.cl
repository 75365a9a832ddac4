// SPDX-License-Identifier: Apache-2.0
__attribute__((reqd_work_group_size(8, 8, 1))) kernel void reduce(global const float *in, global float *out,
                                                                  local float *scratch) {
    const int l = get_local_id(0);
    scratch[l] = in[get_global_id(0)];
    for (int n = get_local_size(0) / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < n)
            scratch[l] += scratch[l + n];
    }
    if (l == 0)
        out[get_group_id(0)] = scratch[0];
}

__attribute__((work_group_size_hint(64, 1, 1), vec_type_hint(float4))) kernel void
copied(global const int *in, global int *out) {
    local int part[64];
    event_t event = async_work_group_copy(part, in + get_group_id(0) * 64, 64, 0);
    event = async_work_group_strided_copy(part, in, 8, 2, event);
    wait_group_events(1, &event);
    prefetch(in, 64);
    out[get_global_id(0)] = part[get_local_id(0)];
    mem_fence(CLK_GLOBAL_MEM_FENCE);
}

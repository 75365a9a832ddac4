// SPDX-License-Identifier: Apache-2.0
// Kernels that count work-items, with arguments whose sizes programs get wrong, and with attributes.
kernel void count_items(global int *count) {
    atomic_inc(count);
}

struct tail {
    long a;
    char b; // 7 bytes of padding follow
};

kernel void sizes(ulong wide, int4 vector, float3 three, struct tail tail, global const int *pointer,
                  local int *tmp, global ulong *out) {
    tmp[0] = 1;
    out[0] = wide;
    out[1] = vector.x + 10 * vector.y + 100 * vector.z + 1000 * vector.w;
    out[2] = three.x + three.y + three.z;
    out[3] = tail.a + tail.b;
    out[4] = pointer ? pointer[0] : 77;
}

kernel void narrow(int a, uint b, short c, uchar d, global long *out) {
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

kernel __attribute__((work_group_size_hint(4, 2, 1))) __attribute__((vec_type_hint(float4))) void
hints(global int *out) {
    out[0] = 1;
}

kernel __attribute__((reqd_work_group_size(16, 2, 1))) __attribute__((intel_reqd_sub_group_size(8))) void
required(global int *out) {
    out[0] = 1;
}

struct counted {
    global int *counts; // of work-groups, innermost the first dimension
    int width, behind_width, height;
};

// It differs from the kernel, so that a test sees which of them has run.
void ze_cpu_groups_of_count_groups(global const struct counted *call, long x, long y, long z, long count) {
    for (long i = 0; i < count; ++i)
        atomic_inc(call->counts + (z * call->height + y) * call->width + x + i);
}

kernel void count_groups(global int *counts, int width, int height) {
    atomic_add(counts + (get_group_id(2) * height + get_group_id(1)) * width + get_group_id(0), 1000);
}

// It asks for a work-item, so it is never called.
void ze_cpu_groups_of_ask(global const struct counted *call, long x, long y, long z, long count) {
    call->counts[get_global_id(0)] = 1;
}

kernel void ask(global int *counts) {
    counts[get_global_id(0)] = 1000;
}

// No function of a work-group has these parameters.
void ze_cpu_groups_of_wrong(global const struct counted *call, int x, int y, int z, int count) {
    call->counts[x] = 1;
}

kernel void wrong(global int *counts) {
    counts[get_global_id(0)] = 1000;
}

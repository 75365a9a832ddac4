// SPDX-License-Identifier: Apache-2.0
// Variables and functions for link_importer.cl, and for calls by pointer.
global int counter = 40;
global int table[4] = {1, 2, 3, 4};
constant int exported_constants[2] = {8, 9};
static global int calls = 0;
static constant int weights[4] = {10, 20, 30, 40};

int exported_add(int x, int y) {
    calls++;
    return x + y + weights[x];
}

static int doubled(int x) {
    return 2 * x;
}

int doubled_plus_one(int x) {
    atomic_inc(&calls);
    return doubled(x) + 1;
}

int with_id(int x) {
    return doubled(x) + (int)get_global_id(0);
}

int calls_with_id(int x) {
    return with_id(x) + 1;
}

int with_barrier(int x) {
    barrier(CLK_LOCAL_MEM_FENCE);
    return x;
}

int with_printf(int x) {
    printf("%d\n", x);
    return x;
}

int same_name(int x) {
    return x + 1000;
}

kernel void read_exporter(global int *out) {
    out[0] = counter;
    out[1] = calls;
    out[2] = table[3];
}

kernel void common(global int *out) {
    out[0] = same_name(1);
}

// SPDX-License-Identifier: Apache-2.0
// Variables of the program and kernels that use them.
constant int table[5] = {1, -2, 3, -4, 5};
constant float infinite[2] = {-INFINITY, INFINITY};
global int counter = 7;
global float zeros[100];
global int *global points_to = &counter;
static global struct {
    char c;
    ulong l[2];
} record = {'a', {1, 2}};

kernel void use(global int *out, int i) {
    out[0] =
        table[i] + counter + *points_to + record.c + (int)record.l[1] + (int)zeros[i] + (infinite[0] < 0);
    counter = i;
}

kernel void local_table(global int *out, int i) {
    const int values[4] = {3, 1, 4, 1};
    int more[16] = {0};
    more[i] = values[i & 3];
    *out = more[i + 1] + more[i];
}

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

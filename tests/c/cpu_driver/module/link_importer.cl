// SPDX-License-Identifier: Apache-2.0
// Imports from link_exporter.cl, and has a function and a kernel of the same names as that.
extern global int counter;
extern global int table[4];
extern constant int exported_constants[2];
int exported_add(int x, int y);

static global int hidden = 5;
global int own = 6;

int same_name(int x) {
    return x + 2000;
}

kernel void use(global int *out) {
    out[0] = exported_add(2, 3);
    counter += 1;
    out[1] = counter;
    out[2] = table[2] + exported_constants[1];
    out[3] = same_name(0);
    hidden += 1;
    out[4] = hidden + own;
}

kernel void common(global int *out) {
    out[0] = same_name(1);
}

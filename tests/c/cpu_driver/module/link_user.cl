// SPDX-License-Identifier: Apache-2.0
// Imports from link_middle.cl, which imports from link_leaf.cl. This module and link_other.cl
// import from each other.
int middle(int x);
int from_other(int x);

int from_user(int x) {
    return x + 1;
}

kernel void use_library(global int *out) {
    out[0] = middle(out[0]);
}

kernel void use_other(global int *out) {
    out[0] = from_other(out[0]);
}

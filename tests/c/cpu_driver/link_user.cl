// SPDX-License-Identifier: Apache-2.0
// A user of a library that needs another one. It imports from a module that imports from it.
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

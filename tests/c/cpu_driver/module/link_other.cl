// SPDX-License-Identifier: Apache-2.0
// This module and link_user.cl import from each other.
int from_user(int x);

int from_other(int x) {
    return x * 3;
}

kernel void use_user(global int *out) {
    out[0] = from_user(out[0]);
}

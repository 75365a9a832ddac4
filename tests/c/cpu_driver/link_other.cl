// SPDX-License-Identifier: Apache-2.0
// link_user.cl imports from this one and the other way round.
int from_user(int x);

int from_other(int x) {
    return x * 3;
}

kernel void use_user(global int *out) {
    out[0] = from_user(out[0]);
}

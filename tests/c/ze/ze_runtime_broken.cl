// SPDX-License-Identifier: Apache-2.0
// A module that no driver can use alone: the function is nowhere.
int zemm_test_function_that_is_nowhere(int x);

kernel void broken(global int *out) {
    out[0] = zemm_test_function_that_is_nowhere(out[1]);
}

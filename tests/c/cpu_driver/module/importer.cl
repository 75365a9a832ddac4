// SPDX-License-Identifier: Apache-2.0
// Imports a function that library.cl has.
int imported(int x);
kernel void use_imported(global int *a) {
    a[get_global_id(0)] = imported(a[get_global_id(0)]);
}

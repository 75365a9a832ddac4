// SPDX-License-Identifier: Apache-2.0
// Imports a builtin by its name, but with other types than the name says.
int wrong(int a) __asm("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv2_sDv8_iDv2_i");

kernel void use_wrong(global int *a) {
    a[get_global_id(0)] = wrong(3);
}

// SPDX-License-Identifier: Apache-2.0
// Imports a builtin, and a function that only library.cl has.
int imported(int x);
int __attribute__((overloadable)) intel_sub_group_u8_u8_matrix_mad_k32(ushort a, uint8 b, int acc);

__attribute__((intel_reqd_sub_group_size(16))) kernel void multiply_more(global int *a) {
    const size_t i = get_global_id(0);
    a[i] = imported(intel_sub_group_u8_u8_matrix_mad_k32((ushort)0x0101, (uint8)(0x02020202), a[i]));
}

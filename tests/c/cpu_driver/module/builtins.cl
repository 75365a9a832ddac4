// SPDX-License-Identifier: Apache-2.0
// Imports a builtin that the driver has in software.
int2 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(short2 a, int8 b, int2 acc);
int __spirv_SpecConstant(int id, int value);

/// acc = (acc + a * b) * constant for each sub-group; a row of `a` has 32 bytes.
__attribute__((intel_reqd_sub_group_size(16))) kernel void multiply(global short2 *a, global int8 *b,
                                                                    global int2 *acc) {
    const size_t i = get_global_id(0);
    acc[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i], b[i], acc[i]) * __spirv_SpecConstant(3, 1);
}

// SPDX-License-Identifier: Apache-2.0
// A module that defines a builtin itself: the driver must not add its own version.
int2 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(short2 a, int8 b, int2 acc) {
    return acc + 1000;
}

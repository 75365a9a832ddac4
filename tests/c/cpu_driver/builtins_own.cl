// SPDX-License-Identifier: Apache-2.0
// A module that brings a builtin itself: the driver's version has to keep out.
int2 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(short2 a, int8 b, int2 acc) {
    return acc + 1000;
}

// SPDX-License-Identifier: Apache-2.0
// The OpenCL runtime refuses this: the instruction asks for a capability of shaders.
kernel void turned(global uint *a) {
    a[3] = __builtin_bitreverse32(a[3]) + __builtin_rotateleft32(a[4], 7);
}

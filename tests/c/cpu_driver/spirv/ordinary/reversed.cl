// SPDX-License-Identifier: Apache-2.0
// llvm-spirv-15 takes an instruction for this that asks for a capability of shaders. The OpenCL runtime
// refuses that.
kernel void turned(global uint *a) {
    a[3] = __builtin_bitreverse32(a[3]) + __builtin_rotateleft32(a[4], 7);
}

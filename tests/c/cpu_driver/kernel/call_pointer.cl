// SPDX-License-Identifier: Apache-2.0
// Calls a function by its address.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef int (*function)(int);

kernel void call_pointer(ulong address, global int *out) {
    const function f = (function)address;
    const int i = get_global_id(0);
    out[i] = f(i);
}

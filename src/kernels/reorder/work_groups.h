// SPDX-License-Identifier: Apache-2.0
// Kernels whose work-groups have one work-item.
#pragma once

// Defines the kernel `name`, whose work-group x, y, z is compute(src, dst, problem, arguments, x, y, z), and
// the function that libze_cpu calls for neighbouring work-groups in place of a launch (docs/level_zero.md).
#define KERNEL_OF_WORK_GROUPS(name, problem, compute)                                                        \
    struct name##_call {                                                                                     \
        bytes src;                                                                                           \
        global uchar *dst;                                                                                   \
        global const problem *p;                                                                             \
        struct reorder_arguments args;                                                                       \
    };                                                                                                       \
    __attribute__((noinline)) void ze_cpu_groups_of_##name(global const struct name##_call *call, long x,    \
                                                           long y, long z, long count) {                     \
        const struct reorder_arguments args = call->args;                                                    \
        for (long i = 0; i < count; ++i)                                                                     \
            compute(call->src, call->dst, call->p, &args, x + i, y, z);                                      \
    }                                                                                                        \
    __attribute__((reqd_work_group_size(1, 1, 1))) kernel void name(                                         \
        bytes src, global uchar *dst, global const problem *p, struct reorder_arguments args) {              \
        compute(src, dst, p, &args, get_global_id(0), get_global_id(1), get_global_id(2));                   \
    }

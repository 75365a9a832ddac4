// SPDX-License-Identifier: Apache-2.0
// The owner work_item: each work-item owns a tile (CPUs, and the row for any device). Its sums and
// its panel are in private memory, which stays in the L1 cache.
#pragma once

#include "owner/work_item/abreast.h"
#include "owner/work_item/choices.h"
#include "owner/work_item/columns.h"
#include "owner/work_item/place.h"
#include "owner/work_item/rows.h"
#include "owner/work_item/vectors.h"

#define OWNER_LOOPS "owner/work_item/loops.h"
#define OWNER_EPILOGUE "owner/work_item/epilogue.h"

#if LANES > 1
// The hint keeps the OpenCL CPU runtime from also making vectors of several work-items.
#define OWNER_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP_X, 1, 1), vec_type_hint(float16)))
#else
#define OWNER_ATTRIBUTES __attribute__((reqd_work_group_size(GROUP_X, 1, 1)))
#endif
#define OWNER_FUNCTION static inline __attribute__((always_inline)) void compute_tile
#define OWNER_PARAMETERS const struct matmul_arguments *args, struct group group
#define ARGUMENTS args
#define OWNER_ARGUMENTS
#define OWNER_GROUP , group

#define ARGUMENTS_OF_KERNEL                                                                                  \
    bytes src, bytes wei, global uchar *dst, global const struct matmul_problem *restrict p,                 \
        struct matmul_arguments args

#if GROUP_X == 1
// The arguments as libze_cpu keeps them.
struct matmul_call {
    bytes src, wei;
    global uchar *dst;
    global const struct matmul_problem *p;
    struct matmul_arguments args;
};
// libze_cpu calls the first function for neighbouring work-groups in place of a launch (docs/level_zero.md).
#define OWNER_KERNELS                                                                                        \
    __attribute__((noinline)) void ze_cpu_groups_of_matmul(global const struct matmul_call *call, long x,    \
                                                           long y, long z, long count) {                     \
        bytes src = call->src;                                                                               \
        const struct matmul_arguments *args = &call->args;                                                   \
        QUANTIZE_ROW(src, call->p, args, z);                                                                 \
        for (long i = 0; i < count; ++i) {                                                                   \
            const struct group group = {{x + i, y, z}, 0};                                                   \
            compute_tile(src, call->wei, call->dst, call->p, args, group);                                   \
        }                                                                                                    \
    }                                                                                                        \
    OWNER_ATTRIBUTES kernel void matmul(ARGUMENTS_OF_KERNEL) {                                               \
        const struct matmul_call call = {src, wei, dst, p, args};                                            \
        ze_cpu_groups_of_matmul((global const struct matmul_call *)(ulong)&call, get_global_id(0),           \
                                get_global_id(1), get_global_id(2), 1);                                      \
    }
#else
#define OWNER_KERNELS                                                                                        \
    OWNER_ATTRIBUTES kernel void matmul(ARGUMENTS_OF_KERNEL) {                                               \
        const struct group group = {{get_group_id(0), get_group_id(1), get_group_id(2)}, get_local_id(0)};   \
        compute_tile(src, wei, dst, p, &args, group);                                                        \
    }
#endif

#define OWN_COLUMN 0
#define SHARES_TILES false
#define OWN_TILES struct tiles_abreast abreast;
#define EACH_TILE(p, t) for (int own = 0; own < go_to_tile(p, t, own); ++own)
#define SUM_ROW(t, i) (HAS(FLAG_ABREAST) ? (t)->abreast.at * (t)->count + (i) : (i))
#define TILE_VALUES(t, values) ((values) + SUM_ROW(t, 0) * NV)
#define VALUES_APART 1 // unused: the values are where the sums are

// The sum of a segment is carried from block to block.
#if LANES > 1
#define BLOCK_OF_TILES_ABREAST (HAS(FLAG_ONE_GROUP) ? BLOCK_ALONG_N : BLOCK_ABREAST)
#else
#define BLOCK_OF_TILES_ABREAST BLOCK_ABREAST
#endif
#define BLOCK_K                                                                                              \
    (HAS(FLAG_ALONG_K) ? BLOCK_ALONG_K : HAS(FLAG_ABREAST) ? BLOCK_OF_TILES_ABREAST : POLICY_BLOCK_K)
#define SUM_BEGINS(block) (SEGMENTS_ARE_SCALED ? (block)->first : (block)->opens)
#define SUM_ENDS(block) (SEGMENTS_ARE_SCALED && (block)->last)
#define TAKES_CORRECTION(block) ((block)->first)
#define ENDS_WITH_TERM(block) true
#define SUMS_ARE_BITS false
#define SUM_BEGIN 0

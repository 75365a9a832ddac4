// SPDX-License-Identifier: Apache-2.0
// For policies without prefetches of the next block. On GPUs other threads hide the latency, and
// the registers are left to the sums. Policies for CPUs prefetch in smaller parts (prefetch_a,
// prefetch_b).
#pragma once

#include OWNER

struct wei_source;

struct ahead {
    int none;
};
static inline struct ahead look_ahead(global const struct matmul_problem *p,
                                      __private const struct tile_rows *rows, const struct wei_source *w,
                                      long k0, bool shared) {
    return (struct ahead){0};
}
static inline void prefetch_block(__private struct ahead *a) {}

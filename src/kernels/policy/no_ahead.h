// SPDX-License-Identifier: Apache-2.0
// Nothing is asked for ahead: other threads hide the latency, and sums have the registers.
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

// SPDX-License-Identifier: Apache-2.0
// Finishes a row of the tile: the scales that do not change along K, then the epilogue.
#pragma once

#include OWNER_EPILOGUE

#include "owner/tile.h"
#include "problem/parameters.h"

// Turns x[NV], the sums of row r, into values of dst.
static inline void finish_tile_row(global const struct matmul_problem *p, const struct matmul_arguments *args,
                                   global const uchar *dst, const struct row_index *r,
                                   __private const struct tile *t, __private column_f *x) {
    if (HAS(FLAG_EXACT_S32))
        return;
    float src_scale = 1.f;
    if (HAS_SRC_SCALE(p) && !HAS(FLAG_SRC_SCALE_K))
        src_scale = load_scale(args->src_scale, SRC_SCALE_DT(p), args->host_src_scale,
                               row_offset(p, &p->src_scale, r));
    for (int v = 0; v < NV; ++v) {
        if (!SEGMENTS_ARE_SCALED && HAS(FLAG_INTEGER) && !HAS(FLAG_WIDE_SUMS))
            x[v] = to_column_f(as_column_i(x[v]));
        if (!SCALES_COLUMNS)
            x[v] *= SUM_FACTOR;
        if (SCALES_ROWS && !HAS(FLAG_SRC_SCALE_K))
            x[v] *= (column_f)src_scale;
        if (SCALES_COLUMNS && !HAS(FLAG_WEI_SCALE_K))
            x[v] *= t->wei_scale[v];
    }
    finish_row(p, args, dst, r, t->n0, t->columns, x);
}

// SPDX-License-Identifier: Apache-2.0
// A tile of dst and its sums.
#pragma once

#include OWNER

// Vectors of so many rows of the tile, and of all of them.
#define VECTORS(rows) ((rows) / VEC_ROWS * NV)
#define TILE_VECTORS VECTORS(TILE_M)

struct tile {
    int count, columns; // rows, and columns of this work-item, inside the matrix
    long n0;            // the work-item's first column
    struct tile_rows rows;
    struct column_source wei_zp_at, wei_scale_at;
    // Of the tile's columns, in the current segment.
    column_i wei_zp[NV], wei_sum[NV];
    column_f wei_scale[NV];
    vec_i sum[TILE_VECTORS];    // not yet scaled; bits of an f32 unless FLAG_INTEGER
    vec_f result[TILE_VECTORS]; // sum of scaled segments
};

// The sum over K of two parts of it: f32, or bits of an s32 where FLAG_INTEGER and segments are not scaled.
static inline column_f add_sums(column_f a, column_f b) {
    return HAS(FLAG_INTEGER) && !SEGMENTS_ARE_SCALED ? as_column_f(as_column_i(a) + as_column_i(b)) : a + b;
}

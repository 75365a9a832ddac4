// SPDX-License-Identifier: Apache-2.0
// A tile of dst and its sums.
#pragma once

#include OWNER

// Vectors in so many rows of the tile, and in all of them.
#define VECTORS(rows) ((rows) / VEC_ROWS * NV)
#define TILE_VECTORS VECTORS(TILE_M)

#ifndef POLICY_STATE
#define POLICY_STATE
#endif

struct tile {
    int count, columns; // rows of the tile, and columns of this work-item, that are in the matrix
    long n0;            // the work-item's first column
    struct tile_rows rows;
    struct column_source wei_zp_at, wei_scale_at;
    struct column_factors wei_zp_factor, wei_scale_factor;
    // For the columns, in the current segment; wei_sum: sums of the weights along K.
    column_i wei_zp[NV], wei_sum[NV];
    column_f wei_scale[NV];
    OWN_TILES
    POLICY_STATE
    vec_i sum[TILE_VECTORS];    // sums that are not scaled yet; bits of f32 unless FLAG_INTEGER
    vec_f result[TILE_VECTORS]; // sums of scaled segments
};

// Adds the sums of two parts of K: f32, or the bits of s32 if FLAG_INTEGER is set and segments are
// not scaled.
static inline column_f add_sums(column_f a, column_f b) {
    return HAS(FLAG_INTEGER) && !SEGMENTS_ARE_SCALED ? as_column_f(as_column_i(a) + as_column_i(b)) : a + b;
}

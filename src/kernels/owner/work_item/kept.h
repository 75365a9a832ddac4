// SPDX-License-Identifier: Apache-2.0
// Segments whose products are still to be made (owner/work_item/segments.h, owner/work_item/units.h).
#pragma once

#include "owner/work_item/rows.h"

#ifndef MOST_SEGMENTS
#define MOST_SEGMENTS 8
#endif

// Scales and zero points of the columns of a segment, and sums of the weights along it.
struct kept_segment {
    column_i wei_zp[NV], wei_sum[NV];
    column_f wei_scale[NV];
};

// Vectors of values for 16 rows of the tile, of each segment: vector v of segment n, and the value of row i.
#ifdef MULTIPLIES_UNITS // a group of rows is multiplied with all segments before the next group
#define KEPT_ROWS(type, name) type name[ROW_VECTORS][MOST_SEGMENTS]
#define KEPT_VECTOR(rows, n, v) (rows)[v][n]
#define KEPT_VALUE(type, rows, n, i) (((__private type *)&(rows)[(i) / LANES][n])[(i) % LANES])
#else
#define KEPT_ROWS(type, name) type name[MOST_SEGMENTS][ROW_VECTORS]
#define KEPT_VECTOR(rows, n, v) (rows)[n][v]
#define KEPT_VALUE(type, rows, n, i) (((__private type *)(rows)[n])[i])
#endif

struct kept_segments {
    int count, planned; // segments that are kept, and that will be multiplied together
    long end;           // of the range of K
    struct kept_segment segments[MOST_SEGMENTS];
    // Scales and corrections of the sums of all rows of the tile, in each of the segments.
    KEPT_ROWS(column_f, scale);
    KEPT_ROWS(column_i, correction); // with ZP_TERM_F32 the bits of f32, or words
    KEPT_ROWS(column_i, src_zp);
};

// Of segment n, the value that belongs to row i of the tile.
#define SCALE_OF_ROW(kept, n, i) KEPT_VALUE(float, (kept)->scale, n, i)
#define CORRECTION_OF_ROW(kept, n, i) KEPT_VALUE(int, (kept)->correction, n, i)
#define SRC_ZP_OF_ROW(kept, n, i) KEPT_VALUE(int, (kept)->src_zp, n, i)

#define NOTE_END(t, k_end) ((t)->kept.end = (k_end))

// SPDX-License-Identifier: Apache-2.0
// Segments whose products are still to be made (owner/work_item/segments.h, owner/work_item/units.h).
#pragma once

#include "owner/work_item/rows.h"

#define MOST_SEGMENTS 8

// Scales and zero points of the columns of a segment, and sums of the weights along it.
struct kept_segment {
    column_i wei_zp[NV], wei_sum[NV];
    column_f wei_scale[NV];
};

struct kept_segments {
    int count, planned; // segments that are kept, and that will be multiplied together
    long end;           // of the range of K
    struct kept_segment segments[MOST_SEGMENTS];
    // What the sums of all rows of the tile are scaled with and corrected by, in each of the segments.
    column_f scale[MOST_SEGMENTS][ROW_VECTORS];
    column_i correction[MOST_SEGMENTS][ROW_VECTORS]; // with ZP_TERM_F32 the bits of f32, or words
    column_i src_zp[MOST_SEGMENTS][ROW_VECTORS];
};

// Of segment n, the value that belongs to row i of the tile.
#define SCALE_OF_ROW(kept, n, i) (((__private float *)(kept)->scale[n])[i])
#define CORRECTION_OF_ROW(kept, n, i) (((__private int *)(kept)->correction[n])[i])
#define SRC_ZP_OF_ROW(kept, n, i) (((__private int *)(kept)->src_zp[n])[i])

#define NOTE_END(t, k_end) ((t)->kept.end = (k_end))

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
    // What the sums of a row of the tile are scaled with and corrected by, in each of the segments.
    float scale[TILE_M][MOST_SEGMENTS];
    int correction[TILE_M][MOST_SEGMENTS]; // with ZP_TERM_F32 the bits of f32
    int src_zp[TILE_M][MOST_SEGMENTS];
};

#define NOTE_END(t, k_end) ((t)->kept.end = (k_end))

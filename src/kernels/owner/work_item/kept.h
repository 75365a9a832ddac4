// SPDX-License-Identifier: Apache-2.0
// Segments whose products are still to be made (owner/work_item/segments.h).
#pragma once

#include "owner/work_item/rows.h"

#define MOST_SEGMENTS 8

// What the sums of a segment are scaled with, as struct tile and struct tile_rows have it.
struct kept_segment {
    column_f scale[ROW_VECTORS], correction[ROW_VECTORS];
    column_i wei_zp[NV];
    column_f wei_scale[NV];
};

struct kept_segments {
    int count;
    long end; // of the range of K
    struct kept_segment segments[MOST_SEGMENTS];
};

#define POLICY_STATE struct kept_segments kept;
#define NOTE_END(t, k_end) ((t)->kept.end = (k_end))

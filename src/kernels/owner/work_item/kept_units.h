// SPDX-License-Identifier: Apache-2.0
// Short segments whose products are still to be made, of a policy that multiplies units
// (owner/work_item/units.h).
#pragma once

#include "owner/work_item/kept.h"

// Where a kept segment and its weights are.
struct kept_operands {
    k_index k0;
    int length;
    int step; // the number of its first step among those of all kept segments
    struct b_panel wei;
};

struct kept_units {
    int steps; // of the segments that are kept
    struct kept_operands segments[MOST_SEGMENTS];
    bool has_first;              // of a segment that is not kept: whether it begins in the range of K
    struct tile_rows16 tiles[8]; // in software
};

#define POLICY_STATE                                                                                         \
    struct kept_segments kept;                                                                               \
    struct kept_units units;

// Whether all segments are groups of K that fill a tile of half the usual bytes (owner/work_item/groups.h).
#define KEEPS_GROUPS (TILE_BYTES == 32)

// Whether segments are kept: short ones that are scaled. The sums of others stay in tiles or struct tile.
#define KEEPS_UNITS (HAS(FLAG_WHOLE_SEGMENTS) && SEGMENTS_ARE_SCALED)

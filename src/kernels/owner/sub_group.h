// SPDX-License-Identifier: Apache-2.0
// A sub-group of LANES work-items owns the tile (Intel GPUs): its operands and sums are in registers, which
// have no addresses, so that all loops over them are unrolled.
#pragma once

#include "owner/sub_group/columns.h"
#include "owner/sub_group/place.h"
#include "owner/sub_group/rows.h"
#include "owner/sub_group/vectors.h"

#define OWNER_LOOPS "owner/sub_group/loops.h"

#define OWNER_ATTRIBUTES __attribute__((intel_reqd_sub_group_size(LANES)))
#define OWNER_PARAMETERS , local column_f *shared // of the sub-groups, with FLAG_SLICES
#define OWNER_ARGUMENTS , shared

#define OWN_COLUMN get_sub_group_local_id()
#define SHARES_TILES HAS(FLAG_SLICES)
#define VALUES_APART (TILE_M * NV)

// A block is one or two panels. Sums are zero at first. Where a segment is more than one panel, registers are
// too few to carry its sum: each panel is scaled on its own. One that is not the first of its segment has a
// correction of 0.
#define BLOCK_K (spec_panel_k() * spec_panels())
#define SUM_BEGINS(block) SEGMENTS_ARE_SCALED
#define SUM_ENDS(block) SEGMENTS_ARE_SCALED
#define TAKES_CORRECTION(block) (SEGMENTS_ARE_SCALED || (block)->first)

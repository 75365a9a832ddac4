// SPDX-License-Identifier: Apache-2.0
// The owner sub_group: a sub-group of LANES work-items owns a tile (Intel GPUs). Operands and sums
// are in registers. Registers cannot be indexed, so all loops over them are unrolled.
#pragma once

#include "owner/sub_group/choices.h"
#include "owner/sub_group/columns.h"
#include "owner/sub_group/place.h"
#include "owner/sub_group/rows.h"
#include "owner/sub_group/vectors.h"

#define OWNER_LOOPS "owner/sub_group/loops.h"
#define OWNER_EPILOGUE "owner/sub_group/epilogue.h"

#define OWNER_FUNCTION __attribute__((intel_reqd_sub_group_size(LANES))) kernel void matmul
#define OWNER_KERNELS
// shared: [sub-group][8][TILE_N] with FLAG_SLICES
#define OWNER_PARAMETERS struct matmul_arguments args, local column_f *shared
#define ARGUMENTS (&args)
#define OWNER_ARGUMENTS , shared
#define OWNER_GROUP

#define OWN_COLUMN get_sub_group_local_id()
#define SHARES_TILES HAS(FLAG_SLICES)
#define OWN_TILES uint nan[NV]; // of all panels, if a policy LOSES_NAN
#define EACH_TILE(p, t)
#define SUM_ROW(t, i) (i)
#define TILE_VALUES(t, values) (values)
#define VALUES_APART (TILE_M * NV)

// A block is one or two panels. Sums begin at 0 (clear_sums). If segments are scaled, registers do
// not suffice to carry the sum of a segment, so the sum of each panel is scaled on its own. Panels
// after the first of a segment have a correction of 0.
#define BLOCK_K (spec_panel_k() * spec_panels())
#define SUM_BEGINS(block) SEGMENTS_ARE_SCALED
#define SUM_ENDS(block) SEGMENTS_ARE_SCALED
#define TAKES_CORRECTION(block) (SEGMENTS_ARE_SCALED || (block)->first)
#define ENDS_WITH_TERM(block) ((block)->first)

// With FLAG_SUM_BITS an s32 sum begins at the bits of the f32 1.5 * 2^23, whose last bit stands for 1.
// A sum below 2^22 in magnitude ends as the bits of the f32 1.5 * 2^23 + sum. So no conversion is
// needed: the multiplication with the scale also subtracts 1.5 * 2^23 * scale.
#define SUMS_ARE_BITS HAS(FLAG_SUM_BITS)
#define SUM_BEGIN (SUMS_ARE_BITS ? 0x4b400000 : 0)

#define WALK_COLUMNS(args, p, segment, t) walk_tile_columns(args, p, segment, t)
#define WALK_ROWS(args, block, rows) walk_rows(args, block, rows)

// SPDX-License-Identifier: Apache-2.0
// The parts of a problem that both owners look up: here they are specialisation constants. GPU
// compilers need to know them, or the kernel takes more registers than a thread has.
#pragma once

#include "problem/spec.h"

#define HAS_SRC_SCALE(p) HAS(FLAG_SRC_SCALE)
#define SCALES_ROWS HAS(FLAG_SRC_SCALE)
#define SCALES_COLUMNS HAS(FLAG_WEI_SCALE)
#define HAS_EQUAL_GROUPS(p, group) HAS(FLAG_EQUAL_GROUPS)
#define ADDS_OFFSETS false
#define HAS_ROW_GROUPS(p) HAS(FLAG_ROW_GROUPS)
#define HAS_K_GROUPS(p) false
#define MAY_CUT_SEGMENTS (HAS(FLAG_WIDE_SUMS) || HAS(FLAG_PANEL_TAIL))
#define IS_PARTIAL(p) (spec_stage() == STAGE_PARTIAL)

#define SRC_SCALE_DT(p) spec_src_scale_dt()
#define WEI_SCALE_DT(p) spec_wei_scale_dt()
#define WEI_ZP_DT(p) spec_wei_zp_dt()

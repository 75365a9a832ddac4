// SPDX-License-Identifier: Apache-2.0
// Specialisation constants of the matmul kernels.
#pragma once

#include "args/matmul_args.h"
#include "arithmetic/type_sets.h"
#include "problem/spec_constant.h"

SPEC_CONSTANT(src_dt, SPEC_SRC_DT, DT_S8)
SPEC_CONSTANT(wei_dt, SPEC_WEI_DT, DT_U8)
SPEC_CONSTANT(dst_dt, SPEC_DST_DT, DT_F32)
SPEC_CONSTANT(flags, SPEC_FLAGS, 0)
SPEC_CONSTANT(src_unit, SPEC_SRC_UNIT, UNIT_NONE)
SPEC_CONSTANT(wei_unit, SPEC_WEI_UNIT, UNIT_NONE)
SPEC_CONSTANT(src_scale_dt, SPEC_SRC_SCALE_DT, 0)
SPEC_CONSTANT(wei_scale_dt, SPEC_WEI_SCALE_DT, 0)
SPEC_CONSTANT(src_zp_dt, SPEC_SRC_ZP_DT, 0)
SPEC_CONSTANT(wei_zp_dt, SPEC_WEI_ZP_DT, 0)
SPEC_CONSTANT(wei_scale_factor_dt, SPEC_WEI_SCALE_FACTOR_DT, 0)
SPEC_CONSTANT(wei_zp_factor_dt, SPEC_WEI_ZP_FACTOR_DT, 0)
SPEC_CONSTANT(panel_k, SPEC_PANEL_K, 32)
SPEC_CONSTANT(panels, SPEC_PANELS, 1)
SPEC_CONSTANT(stage, SPEC_STAGE, STAGE_WHOLE)
SPEC_CONSTANT(zp_term, SPEC_ZP_TERM, ZP_TERM_S32)
SPEC_CONSTANT(src_load, SPEC_SRC_LOAD, SRC_LOAD_GATHER)
SPEC_CONSTANT(tiles, SPEC_TILES, TILES_IN_SOFTWARE)
SPEC_CONSTANT(tile_bytes, SPEC_TILE_BYTES, 64)

static inline bool spec_look_up() {
    return __spirv_SpecConstant(SPEC_LOOK_UP, 0) != 0;
}

#define HAS(flag) ((spec_flags() & (flag)) != 0)

// For src of integers.
KNOWS(INTEGERS_OF_SRC, BIT_S8 | BIT_U8);
static inline bool src_is_signed() {
    return spec_src_dt() == DT_S8;
}

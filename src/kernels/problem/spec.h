// SPDX-License-Identifier: Apache-2.0
// Specialisation constants of the kernels. Each is read by one function, so that the SPIR-V
// declares it once.
#pragma once

#include "args/matmul_args.h"
#include "arithmetic/type_sets.h"

int __attribute__((overloadable)) __spirv_SpecConstant(int id, int default_value);

static inline int spec_src_dt() {
    return __spirv_SpecConstant(SPEC_SRC_DT, DT_S8);
}
static inline int spec_wei_dt() {
    return __spirv_SpecConstant(SPEC_WEI_DT, DT_U8);
}
static inline int spec_dst_dt() {
    return __spirv_SpecConstant(SPEC_DST_DT, DT_F32);
}
static inline int spec_flags() {
    return __spirv_SpecConstant(SPEC_FLAGS, 0);
}
static inline int spec_src_unit() {
    return __spirv_SpecConstant(SPEC_SRC_UNIT, UNIT_NONE);
}
static inline int spec_wei_unit() {
    return __spirv_SpecConstant(SPEC_WEI_UNIT, UNIT_NONE);
}

static inline int spec_src_scale_dt() {
    return __spirv_SpecConstant(SPEC_SRC_SCALE_DT, 0);
}
static inline int spec_wei_scale_dt() {
    return __spirv_SpecConstant(SPEC_WEI_SCALE_DT, 0);
}
static inline int spec_src_zp_dt() {
    return __spirv_SpecConstant(SPEC_SRC_ZP_DT, 0);
}
static inline int spec_wei_zp_dt() {
    return __spirv_SpecConstant(SPEC_WEI_ZP_DT, 0);
}

static inline int spec_panel_k() {
    return __spirv_SpecConstant(SPEC_PANEL_K, 32);
}
static inline int spec_panels() {
    return __spirv_SpecConstant(SPEC_PANELS, 1);
}

static inline int spec_stage() {
    return __spirv_SpecConstant(SPEC_STAGE, STAGE_WHOLE);
}
static inline int spec_zp_term() {
    return __spirv_SpecConstant(SPEC_ZP_TERM, ZP_TERM_S32);
}
static inline int spec_src_load() {
    return __spirv_SpecConstant(SPEC_SRC_LOAD, SRC_LOAD_GATHER);
}

static inline int spec_tiles() {
    return __spirv_SpecConstant(SPEC_TILES, TILES_IN_SOFTWARE);
}

static inline bool spec_look_up() {
    return __spirv_SpecConstant(SPEC_LOOK_UP, 0) != 0;
}

#define HAS(flag) ((spec_flags() & (flag)) != 0)

// For src of integers.
KNOWS(INTEGERS_OF_SRC, BIT_S8 | BIT_U8);
static inline bool src_is_signed() {
    return spec_src_dt() == DT_S8;
}

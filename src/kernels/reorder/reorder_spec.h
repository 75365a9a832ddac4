// SPDX-License-Identifier: Apache-2.0
// Specialisation constants of the reorder kernels. Each is read by one function, so that the SPIR-V
// declares it once.
#pragma once

#include "args/reorder_args.h"
#include "arithmetic/data_type.h"

int __attribute__((overloadable)) __spirv_SpecConstant(int id, int default_value);

static inline int spec_src_dt() {
    return __spirv_SpecConstant(REORDER_SPEC_SRC_DT, DT_F32);
}
static inline int spec_dst_dt() {
    return __spirv_SpecConstant(REORDER_SPEC_DST_DT, DT_S8);
}
static inline int spec_flags() {
    return __spirv_SpecConstant(REORDER_SPEC_FLAGS, 0);
}
static inline int spec_bits() {
    return __spirv_SpecConstant(REORDER_SPEC_BITS, 8);
}
static inline int spec_scale_dt() {
    return __spirv_SpecConstant(REORDER_SPEC_SCALE_DT, DT_F32);
}

static inline int spec_vectors() {
    return __spirv_SpecConstant(REORDER_SPEC_VECTORS, 0);
}

#define HAS(flag) ((spec_flags() & (flag)) != 0)

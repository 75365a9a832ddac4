// SPDX-License-Identifier: Apache-2.0
// Specialisation constants of the reorder kernels.
#pragma once

#include "args/reorder_args.h"
#include "arithmetic/data_type.h"
#include "problem/spec_constant.h"

SPEC_CONSTANT(src_dt, REORDER_SPEC_SRC_DT, DT_F32)
SPEC_CONSTANT(dst_dt, REORDER_SPEC_DST_DT, DT_S8)
SPEC_CONSTANT(flags, REORDER_SPEC_FLAGS, 0)
SPEC_CONSTANT(bits, REORDER_SPEC_BITS, 8)
SPEC_CONSTANT(scale_dt, REORDER_SPEC_SCALE_DT, DT_F32)
SPEC_CONSTANT(vectors, REORDER_SPEC_VECTORS, 0)

#define HAS(flag) ((spec_flags() & (flag)) != 0)

// SPDX-License-Identifier: Apache-2.0
// The 2-D block loads that policies use.
#pragma once

#include "owner/sub_group/surface.h"

// Policies call the builtins behind cl_intel_subgroup_2d_block_io, which return what they read.
// Older compilers do not have the extension, and have the builtins only for some shapes.
// u8_m8k32v2: 8 rows of two blocks of 32 bytes, here as ints, eight lanes a row. transform:
// neighbouring rows become neighbours in an int. transpose: rows become lanes.
#define DECLARE_READ_2D(shape, type)                                                                         \
    type __builtin_IB_subgroup_block_read_flat_##shape(long base, int width_less_1, int height_less_1,       \
                                                       int pitch_less_1, int2 at);
DECLARE_READ_2D(u8_m8k32v2, uint8)
DECLARE_READ_2D(transform_u8_k32, uint8)
DECLARE_READ_2D(transform_u16_k16, uint8)
DECLARE_READ_2D(transpose_u32_k8, uint8)

// at: x in elements, y in rows.
#define READ_2D(shape, s, at)                                                                                \
    __builtin_IB_subgroup_block_read_flat_##shape((long)(s).base, (s).width - 1, (s).height - 1,             \
                                                  (s).pitch - 1, at)

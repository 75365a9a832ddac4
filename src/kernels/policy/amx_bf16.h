// SPDX-License-Identifier: Apache-2.0
// bf16 by bf16 or by integers, by the tiles of AMX; f32 becomes bf16, where the fpmath mode allows that, and
// f16 of src becomes the sum of two (widen_src.cl).
#pragma once

#include "policy/tiles.h"

#define WITH_TABLES
#define CAN_LOOK_UP (!tiles_in_software()) // CPUs with AMX have AVX512_VBMI
#include "policy/bf16.h"

#define SRC_PARTS 2
#define SPLITS_SRC HAS(FLAG_SPLIT)

TILE_INTRINSIC x86_tdpbf16ps(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbf16ps");
#define TILE_PRODUCT(sum, src, wei) x86_tdpbf16ps(sum, src, wei)

#include "policy/amx_words.h"

// SPDX-License-Identifier: Apache-2.0
// f16 by f16 or by integers, by the tiles of AMX.
#pragma once

#include "policy/amx/tiles.h"

#define WITH_TABLES
#define CAN_LOOK_UP (!tiles_in_software()) // CPUs with AMX have AVX512_VBMI
#include "policy/cpu/f16.h"

TILE_INTRINSIC x86_tdpfp16ps(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpfp16ps");
#define TILE_PRODUCT(sum, src, wei) x86_tdpfp16ps(sum, src, wei)

#include "policy/amx/amx_words.h"

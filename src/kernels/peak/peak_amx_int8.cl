// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AMX products of tiles of bytes: u8 by s8 to s32.
#include "policy/amx/tiles.h"

TILE_INTRINSIC x86_tdpbusd(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbusd");
#define TILE_PRODUCT(sum, src, wei) x86_tdpbusd(sum, src, wei)
#define PEAK peak_amx_int8
#include "peak/peak_tiles.h"

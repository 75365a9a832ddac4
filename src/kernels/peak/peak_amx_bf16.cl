// SPDX-License-Identifier: Apache-2.0
// Measures the rate of AMX products of tiles of bf16, to f32.
#include "policy/amx/tiles.h"

TILE_INTRINSIC x86_tdpbf16ps(uchar sum, uchar src, uchar wei) __asm("llvm.x86.tdpbf16ps");
#define TILE_PRODUCT(sum, src, wei) x86_tdpbf16ps(sum, src, wei)
#define PEAK peak_amx_bf16
#include "peak/peak_tiles.h"

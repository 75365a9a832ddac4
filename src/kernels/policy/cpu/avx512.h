// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, in vectors of 512 bits (AVX512F).
#pragma once

#if LANES != 16
#error "512 bits are 16 lanes"
#endif

// Packed f8 and f4 become f32 by tables of bf16 (policy/cpu/small_words.h).
#define WITH_TABLES
#define CAN_LOOK_UP (wei_bits() == 4 || spec_look_up())
#include "policy/cpu/bf16.h"
#include "policy/cpu/small_words.h"

#define PREFETCHES_DST 1

// Operands that are multiplied from where they are need no block that fits into a panel: sums stay in
// registers for longer, and weights come from the L2 cache.
#define BLOCK_IN_PLACE 1024
#define POLICY_BLOCK_K (OPERANDS_IN_PLACE && !READS_SHORT_BLOCKS(t->count) ? BLOCK_IN_PLACE : TILE_K)

#include "policy/cpu/fma.h"

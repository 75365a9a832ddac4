// SPDX-License-Identifier: Apache-2.0
// What all policies have where a sub-group owns a tile: eight rows at a time, blocks of K as long as the
// panels that the problem asks for.
#pragma once

#include "policy/packed.h"
#include "spec.h"

#if ROWS != 8
#error "a vector has 8 rows"
#endif

#define ANY_ROW_COUNT 0
#define BLOCK_K (spec_panel_k() * spec_panels())
#define WEI_SHIFT 0

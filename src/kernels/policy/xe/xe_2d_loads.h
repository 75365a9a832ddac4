// SPDX-License-Identifier: Apache-2.0
// Loads of src and weights by 2-D block loads, in sub-groups of 16. As xe_1d_loads.h it defines
//   load_a                                        eight rows of src
//   struct wei_source, open_wei, read_steps       the weights
//   struct ahead, look_ahead, prefetch_block      prefetches
#pragma once

#include "policy/xe/xe_2d_ahead.h"
#include "policy/xe/xe_2d_src.h"
#include "policy/xe/xe_2d_wei.h"

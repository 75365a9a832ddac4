// SPDX-License-Identifier: Apache-2.0
// How policies read src and weights by 2-D block loads, in sub-groups of 16. As xe_1d_loads.h this defines
// load_a, which reads eight rows of src; struct wei_source, open_wei, read_steps; struct ahead, look_ahead,
// prefetch_block.
#pragma once

#include "policy/xe_2d_ahead.h"
#include "policy/xe_2d_src.h"
#include "policy/xe_2d_wei.h"

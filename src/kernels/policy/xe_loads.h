// SPDX-License-Identifier: Apache-2.0
// How Xe policies read src and weights: load_a; struct wei_source, open_wei, read_steps; struct ahead,
// look_ahead, prefetch_block.
#pragma once

#if LANES == 16
#include "policy/xe_ahead.h"
#include "policy/xe_src.h"
#include "policy/xe_wei.h"
#else
#include "policy/xe_1d_src.h"
#include "policy/xe_1d_wei.h"
#endif

// SPDX-License-Identifier: Apache-2.0
// The same as xe_2d_loads.h by block loads in one dimension, in sub-groups of 8.
#pragma once

#include "policy/no_ahead.h"
#include "policy/xe_1d_src.h"
#include "policy/xe_1d_wei.h"

// SPDX-License-Identifier: Apache-2.0
// Loads of src and weights by 1-D block loads, in sub-groups of 8. It defines the functions that
// xe_2d_loads.h lists.
#pragma once

#include "policy/shared/no_ahead.h"
#include "policy/xe/xe_1d_src.h"
#include "policy/xe/xe_1d_wei.h"

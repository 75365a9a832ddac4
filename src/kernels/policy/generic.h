// SPDX-License-Identifier: Apache-2.0
// The policy that runs anywhere. Rows past the end of a tile are multiplied with the rest, never stored: one
// variant of the inner loop keeps the code small.
#pragma once

#define ANY_ROW_COUNT 0
#include "policy/fma.h"

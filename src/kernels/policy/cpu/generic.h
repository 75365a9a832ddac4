// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, on any device. Groups always have ROWS rows: one variant of the inner loop
// keeps the code small. Rows past the end of a tile are multiplied, too, but never stored.
#pragma once

#define ANY_ROW_COUNT 0
#include "policy/cpu/fma.h"

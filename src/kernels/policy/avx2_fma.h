// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, in vectors of 256 bits (AVX2 with FMA).
#pragma once

#if LANES != 8
#error "256 bits are 8 lanes"
#endif

#include "policy/fma.h"

// SPDX-License-Identifier: Apache-2.0
// Every operand as f32, in vectors of 512 bits (AVX512F).
#pragma once

#if LANES != 16
#error "512 bits are 16 lanes"
#endif

#include "policy/fma.h"

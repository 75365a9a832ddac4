// SPDX-License-Identifier: Apache-2.0
// Everything as f32 on 256 bits (AVX2 with FMA).
#pragma once

#include "policy/fma.h"

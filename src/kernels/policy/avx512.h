// SPDX-License-Identifier: Apache-2.0
// Everything as f32 on 512 bits (AVX512F).
#pragma once

#include "policy/fma.h"

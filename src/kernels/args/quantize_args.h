// SPDX-License-Identifier: Apache-2.0
// Limits of dynamic quantisation. Compiled as C++ and as OpenCL C.
#pragma once

#define QUANTIZE_MAX_VECTORS 8 // of 16 elements, in a group that stays in registers
// Of a row that a matmul quantises for its tiles (policy/cpu/quantized_row.h).
#define MOST_QUANTIZED 16384 // elements
#define MOST_QUANTIZED_GROUPS 1024

// SPDX-License-Identifier: Apache-2.0
// reorder for conversions from and to f64, with arithmetic in f64.
#define WITH_F64
#define reorder reorder_f64
#include "reorder/reorder.cl"

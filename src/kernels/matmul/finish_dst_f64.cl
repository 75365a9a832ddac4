// SPDX-License-Identifier: Apache-2.0
// finish_dst for sums of f64, which become f32 for post-ops, as in oneDNN, and for an f64 dst.
#define WITH_F64
#define SUMS_DT DT_F64
#define finish_dst finish_dst_f64
#include "matmul/finish_dst.cl"

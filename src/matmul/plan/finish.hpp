// SPDX-License-Identifier: Apache-2.0
// Plans the kernels finish_dst and matmul_f64, with which a matmul in steps does what no row of
// kernels.def does.
#pragma once

#include "kernels/finish_args.h"
#include "matmul/problem/problem.hpp"
#include "primitive/arguments.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

bool is_f64(const problem &p);
// Whether finish_dst has to turn the sums into dst.
bool needs_finish(const problem &p);

// p: with plain tensors. dst: the caller's, on whose layout random numbers depend. sums_are_f64: matmul_f64
// makes them, and adds the bias.
reorder::plan plan_finish(const problem &p, const memory_desc &dst, bool sums_are_f64);
// Throws unimplemented if the device has no f64.
reorder::plan plan_f64(const problem &p, const ze::device &dev);

kernels::finish_arguments finish_values(const bound_arguments &b);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Plans the kernels finish_dst and matmul_f64, with which a matmul in steps does what no row of
// kernels.def does.
#pragma once

#include "kernels/finish_args.h"
#include "matmul/problem/problem.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

bool is_f64(const problem &p);
// Whether finish_dst has to turn the sums into dst.
bool needs_finish(const problem &p);

// The launch of finish_dst. p: with plain tensors. caller: the caller's problem, on whose layout of dst
// random numbers depend. sums_are_f64: matmul_f64 makes them, and adds the bias.
launch finish_launch(const problem &p, const problem &caller, bool sums_are_f64, const operand &sums,
                     const operand &dst);
// The launch of matmul_f64. Throws unimplemented if the device has no f64.
launch f64_launch(const problem &p, const problem &caller, const ze::device &dev, const operand &dst);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// The argument block of a problem: what its kernels read of it, but for how the plan cuts it.
#pragma once

#include "kernels/matmul_args.h"
#include "matmul/facts.hpp"

namespace zemm::matmul {

// Strides of a plain tensor; dimensions of 1 have stride 0, so that any coordinate of dst fits.
kernels::tensor_arg tensor(const memory_desc &md);

kernels::matmul_problem make_argument_block(const facts &f);

} // namespace zemm::matmul

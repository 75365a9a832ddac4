// SPDX-License-Identifier: Apache-2.0
// Makes the argument block: what kernels read of a problem. The plan adds how the problem is cut.
#pragma once

#include "kernels/matmul_args.h"
#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

// A plain tensor for kernels. Dimensions of 1 have stride 0, so that any coordinate of dst is
// valid.
kernels::tensor_arg tensor(const memory_desc &md);

// The scales or zero points of a tensor; no tensor if there is no entry.
kernels::tensor_arg quant_tensor(const memory_desc &md, const quant_entry *entry);

kernels::matmul_problem make_argument_block(const facts &f);
// The parts that every problem with plain tensors has; and of these, what follows the sums.
kernels::matmul_problem make_whole_block(const problem &p);
kernels::matmul_problem make_epilogue_block(const problem &p);

} // namespace zemm::matmul

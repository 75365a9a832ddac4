// SPDX-License-Identifier: Apache-2.0
// Which arguments the execution of a matmul takes, how kernels get them, and the argument block: what kernels
// read of a problem. The plan adds how the problem is cut.
#pragma once

#include "kernels/args/matmul_args.h"
#include "matmul/choose/facts.hpp"
#include "matmul/problem/problem.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// scratchpad: a zero descriptor if the caller does not provide it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

// Whether src, weights, dst or the scratchpad have 4 GiB or more.
bool has_large(const problem &p, size_t scratchpad_size);

// Values that kernels get at an execution: parameters, and tensors beside src, weights and dst.
values_of<kernels::matmul_arguments> values_of_problem(const problem &p);

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

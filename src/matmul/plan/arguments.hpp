// SPDX-License-Identifier: Apache-2.0
// Which arguments the execution of a matmul takes, and how kernels get them.
#pragma once

#include "kernels/matmul_args.h"
#include "matmul/problem/problem.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// scratchpad: a zero descriptor if the caller does not provide it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

// What kernels get by value at an execution: parameters, and tensors beside src, weights and dst.
values_of<kernels::matmul_arguments> values_of_problem(const problem &p);

} // namespace zemm::matmul

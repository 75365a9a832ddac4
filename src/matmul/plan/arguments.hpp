// SPDX-License-Identifier: Apache-2.0
// Which arguments the execution of a matmul takes, and how kernels get them.
#pragma once

#include "kernels/matmul_args.h"
#include "matmul/problem/problem.hpp"
#include "primitive/arguments.hpp"

namespace zemm::matmul {

// scratchpad: a zero descriptor if the caller does not provide it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

// What kernels get by value at an execution.
kernels::matmul_arguments arguments_by_value(const bound_arguments &b, const problem &p);

} // namespace zemm::matmul

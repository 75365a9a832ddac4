// SPDX-License-Identifier: Apache-2.0
// Which arguments the execution of a matmul takes.
#pragma once

#include "matmul/problem.hpp"
#include "primitive/arguments.hpp"

namespace zemm::matmul {

// scratchpad: a zero descriptor if the caller does not provide it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

} // namespace zemm::matmul

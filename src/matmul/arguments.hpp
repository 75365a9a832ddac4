// SPDX-License-Identifier: Apache-2.0
// The execution arguments of a matmul.
#pragma once

#include "matmul/problem.hpp"
#include "primitive/arguments.hpp"

namespace zemm::matmul {

// All that an execution needs; scratchpad: zero descriptor unless the caller provides it.
argument_map arguments_of(const problem &p, const memory_desc &scratchpad);

} // namespace zemm::matmul

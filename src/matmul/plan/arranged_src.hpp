// SPDX-License-Identifier: Apache-2.0
// The launch of the kernel arrange_src (choose/arrangement.hpp).
#pragma once

#include "matmul/choose/arrangement.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// asked: the problem whose src is arranged.
launch arrange_launch(const problem &asked, const arrangement &a, const operand &from, const operand &to);

} // namespace zemm::matmul

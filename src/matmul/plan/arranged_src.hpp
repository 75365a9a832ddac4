// SPDX-License-Identifier: Apache-2.0
// The launch of the kernel arrange_src (choose/arrangement.hpp).
#pragma once

#include "matmul/choose/arrangement.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

// asked: the problem whose src is arranged.
reorder::plan plan_arranging(const problem &asked, const arrangement &a);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// src as rows for Intel GPUs multiply it, if that is not as it was asked: small floats become f16, and DPAS
// takes the elements of K in another order beside weights of f8 and f4 (policy/xe/xe_small_floats.h). The
// kernel arrange_src writes it into the scratchpad before the matmul runs.
#pragma once

#include <memory>

#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

// nullptr if the row multiplies src as it is. of_problem: of p.
std::shared_ptr<const arrangement> arrange_src(const problem &p, const problem_facts &of_problem,
                                               const kernel_row &row);

} // namespace zemm::matmul

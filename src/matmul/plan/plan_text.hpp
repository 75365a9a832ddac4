// SPDX-License-Identifier: Apache-2.0
// The planner's decisions as text, for ZEMM_VERBOSE=plan: tools read which decisions a problem leads to.
#pragma once

#include <string>

#include "matmul/plan/plan.hpp"

namespace zemm::matmul {

// Logs the plan of a problem. event: "create" when a descriptor has chosen it, "exec" when it is submitted.
void log_plan(const char *event, const problem &p, const plan &made);

} // namespace zemm::matmul

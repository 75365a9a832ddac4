// SPDX-License-Identifier: Apache-2.0
// The launches of a row's kernel: the matmul and, if K is split into ranges, the one that adds up their sums.
#pragma once

#include "matmul/plan/plan.hpp"

namespace zemm::matmul {

// What the kernel gets by value. reductions: where the sums of src are, if not in the caller's argument. p:
// the caller's problem.
host_values main_values(const plan &made, const problem &p, const operand &reductions);

// made: with its argument block.
launch main_launch(const plan &made, const operand &src, const operand &wei, host_values values,
                   std::vector<ze::spec_constant> constants);
// The second launch of a split K.
launch add_ranges_launch(const plan &made, launch main, std::vector<ze::spec_constant> constants);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// The part of a plan that only rows for Intel GPUs need, where a sub-group owns a tile.
#pragma once

#include "matmul/choose/arithmetic.hpp"
#include "matmul/plan/plan.hpp"

namespace zemm::matmul {

// Sets the grid and how K is split.
void xe_cut(const split &s, zemm_dim_t batch, plan &result);
// Sets the row pitches of src and of the weights where a dimension of 1 leaves them open.
void xe_pitches(const facts &f, kernels::matmul_problem &block);
// The flags that only these rows have, such as FLAG_WEI_2D.
uint32_t xe_flags(const facts &f, const arithmetic &a);
kernels::src_load xe_src_load(const facts &f);

} // namespace zemm::matmul

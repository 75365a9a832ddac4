// SPDX-License-Identifier: Apache-2.0
// How much of K an s32 holds the sum of, whatever the values are.
#pragma once

#include "matmul/problem.hpp"

namespace zemm::matmul {

// An integer matmul whose sums are its results: no f32 on the way. They wrap.
bool is_bare_s32(const problem &p);
// Elements of K, by the types' ranges; of an integer problem.
zemm_dim_t longest_s32_sum(const problem &p);
// The longest of equal parts of a segment that is no longer than that.
zemm_dim_t fitting_part(const problem &p, zemm_dim_t segment);
// Elements of K in a range whose sum fits: K, or whole segments or blocks of it. Ranges are then added up
// beyond s32. Nothing is scaled along K.
zemm_dim_t longest_range(const problem &p, zemm_dim_t segment);

} // namespace zemm::matmul

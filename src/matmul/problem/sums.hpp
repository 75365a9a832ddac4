// SPDX-License-Identifier: Apache-2.0
// How many products an s32 sum can hold, whatever the values are.
#pragma once

#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

// Whether the s32 sums of an integer matmul are its results, without f32 on the way. Such sums may
// wrap.
bool is_bare_s32(const problem &p);
// Elements of K whose sum of products is never above `most` in magnitude, by the ranges of the types.
// For integer problems.
zemm_dim_t longest_sum(const problem &p, zemm_dim_t most);
// The same for sums that fit into an s32.
zemm_dim_t longest_s32_sum(const problem &p);
// The longest part of a segment that divides it and is no longer than `longest`.
zemm_dim_t fitting_part(zemm_dim_t segment, zemm_dim_t longest);
// Elements of K in a range whose sum fits into an s32: all of K, or whole segments, or whole blocks
// if K is one segment. Sums of ranges are then added up in more than 32 bits. For problems without
// scales along K.
zemm_dim_t longest_range(const problem &p, zemm_dim_t segment);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// What the block loads of Intel GPUs can read.
#pragma once

#include "matmul/problem.hpp"

namespace zemm::matmul {

// Bytes of which the place of a tensor has to be a multiple for block loads.
constexpr size_t block_load_alignment = 4;

// In one dimension.
bool can_read_src_1d(const problem &p);
// In two; rows: of one matrix of src.
bool can_read_src_2d(const problem &p, zemm_dim_t rows);
bool can_read_wei_2d(const memory_desc &wei);

} // namespace zemm::matmul

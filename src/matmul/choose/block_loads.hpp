// SPDX-License-Identifier: Apache-2.0
// Which tensors the block loads of Intel GPUs can read.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm::matmul {

// Bytes. The address of a tensor that block loads read must be a multiple of this.
constexpr size_t block_load_alignment = 4;

// 1-D block loads.
bool can_read_src_1d(const memory_desc &src);
// 2-D block loads. rows: of one matrix of src.
bool can_read_src_2d(const memory_desc &src, zemm_dim_t rows);
bool can_read_wei_2d(const memory_desc &wei);

} // namespace zemm::matmul

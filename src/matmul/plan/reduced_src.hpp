// SPDX-License-Identifier: Apache-2.0
// Sums of an integer src over each segment of K, with which zero points leave the loop over K. The kernel
// reduce_src writes them into the scratchpad before the matmul runs, unless the caller passes them.
#pragma once

#include "matmul/choose/facts.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// The tensor with the sums: dense s32 [src batch.., M, K / segment].
memory_desc reductions_md(const problem &p, zemm_dim_t segment);
// The launch of reduce_src, which reads the main launch's argument block.
launch reduce_launch(const facts &f, const memory_desc &reductions, const operand &src, const operand &to);

} // namespace zemm::matmul

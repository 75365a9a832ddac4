// SPDX-License-Identifier: Apache-2.0
// The launch of widen_src, which copies src before the matmul runs (choose/dispatch.hpp).
#pragma once

#include "matmul/choose/facts.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// Bytes that the launch writes. f: of the problem with the wide src.
size_t widened_size(const facts &f);
launch widen_launch(const memory_desc &src, const memory_desc &wide, const operand &from, const operand &to);

} // namespace zemm::matmul

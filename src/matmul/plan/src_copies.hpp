// SPDX-License-Identifier: Apache-2.0
// The launches that write another src into the scratchpad before the matmul runs.
#pragma once

#include "matmul/choose/facts.hpp"
#include "primitive/sequence.hpp"

namespace zemm::matmul {

// The kernel arrange_src (choose/arrangement.hpp). asked: the problem whose src is arranged.
launch arrange_launch(const problem &asked, const arrangement &a, const operand &from, const operand &to);

// The kernel widen_src (choose/dispatch.hpp).
launch widen_launch(const memory_desc &src, const memory_desc &wide, const operand &from, const operand &to);
// Bytes that it writes. f: of the problem with the wide src.
size_t widened_size(const facts &f);

} // namespace zemm::matmul

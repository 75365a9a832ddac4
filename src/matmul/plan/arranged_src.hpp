// SPDX-License-Identifier: Apache-2.0
// src as rows for Intel GPUs multiply it, if that is not as the caller has it: small floats become f16, and
// DPAS takes the elements of K in another order beside weights of f8 and f4 (policy/xe_small_floats.h). The
// kernel arrange_src writes it into the scratchpad before the matmul runs.
#pragma once

#include "matmul/choose/kernel_row.hpp"
#include "matmul/problem/problem.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

// Whether the row wants src arranged.
bool arranges_src(const problem &p, const kernel_row &row);
// The problem that the kernel then runs. Its src has rows of whole blocks of 64 elements. It has no scales
// of src if arrange_src applies them.
problem arranged_problem(const problem &p);
// The same with the padding behind K as elements of K, as block loads read it.
memory_desc with_padding(memory_desc arranged);
size_t arranged_bytes(const memory_desc &arranged);
// The launch of arrange_src. p: the caller's problem; arranged: src of arranged_problem(p).
reorder::plan plan_arranging(const problem &p, const kernel_row &row, const memory_desc &arranged);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// src as rows for Intel GPUs multiply it, if that is not as it was asked: small floats become f16, and DPAS
// takes the elements of K in another order beside weights of f8 and f4 (policy/xe/xe_small_floats.h). The
// kernel arrange_src writes it into the scratchpad before the matmul runs.
#pragma once

#include <memory>

#include "matmul/choose/kernel_row.hpp"
#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

struct problem_facts; // facts.hpp

struct arrangement {
    // The problem that the kernel then runs. Its src has rows of whole blocks of 64 elements. It has no
    // scales of src if arrange_src applies them.
    struct problem problem;
    memory_desc seen_src; // src with the padding behind K as elements of K, as block loads read it
    bool applies_scales;
    int unit; // elements of K that change their order among themselves; 1: they keep it
};

// nullptr if the row multiplies src as it is. of_problem: of p.
std::shared_ptr<const arrangement> arrange_src(const problem &p, const problem_facts &of_problem,
                                               const kernel_row &row);

} // namespace zemm::matmul

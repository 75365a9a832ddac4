// SPDX-License-Identifier: Apache-2.0
// The flags and the other specialisation constants of the kernel matmul (kernels/spec.h).
#pragma once

#include <vector>

#include "kernels/matmul_args.h"
#include "matmul/choose/facts.hpp"
#include "ze/module.hpp"

namespace zemm::matmul {

// Whether quads are multiplied by vector instructions.
bool multiplies_quads(const facts &f);
// Whether the policy can multiply float weights that lie along N from where they are in memory.
bool is_read_in_rows(const facts &f);
// Whether f32 holds a segment's zero-point term exactly.
bool zero_points_fit_f32(const facts &f);

// The flags that follow from the problem and the row. make_plan() adds those of the launches.
uint32_t common_flags(const facts &f);
std::vector<ze::spec_constant> xe_constants(const facts &f, uint32_t flags, kernels::stage stage);
// For rows where a work-item owns a tile.
std::vector<ze::spec_constant> cpu_constants(const facts &f, const ze::device &dev, uint32_t flags);
// The second launch of a problem whose K is split into ranges.
std::vector<ze::spec_constant> cpu_finish_constants(uint32_t flags);

} // namespace zemm::matmul

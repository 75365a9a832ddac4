// SPDX-License-Identifier: Apache-2.0
// The flags and the other specialisation constants of the kernel matmul (kernels/problem/spec.h).
#pragma once

#include <vector>

#include "matmul/choose/arithmetic.hpp"
#include "ze/module.hpp"

namespace zemm::matmul {

// The flags that follow from the problem and the row. make_plan() adds those of the launches.
uint32_t common_flags(const facts &f, const arithmetic &a);
std::vector<ze::spec_constant> xe_constants(const facts &f, const arithmetic &a, uint32_t flags,
                                            kernels::stage stage);
// For rows where a work-item owns a tile. quantizes_src: it does so first.
std::vector<ze::spec_constant> cpu_constants(const facts &f, const arithmetic &a, const ze::device &dev,
                                             uint32_t flags, bool quantizes_src);
// The second launch of a problem whose K is split into ranges.
std::vector<ze::spec_constant> cpu_add_ranges_constants(uint32_t flags);

} // namespace zemm::matmul

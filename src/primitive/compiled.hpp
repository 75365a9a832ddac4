// SPDX-License-Identifier: Apache-2.0
// The part of a primitive that primitives of equal problems share through the primitive cache.
#pragma once

#include <functional>

#include "primitive/primitive_desc.hpp"

namespace zemm {

// Finds the part for the descriptor's implementation, attributes and tensors in the cache. If it is
// not there, calls build() and keeps the result. where: set to where the kernels came from.
std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd, cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build);
// Whether the cache has that part.
bool is_compiled(const zemm_primitive_desc &pd);

} // namespace zemm

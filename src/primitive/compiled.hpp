// SPDX-License-Identifier: Apache-2.0
// What primitives of equal problems share, by way of the primitive cache.
#pragma once

#include <functional>
#include <initializer_list>

#include "primitive/primitive_desc.hpp"

namespace zemm {

// What the cache has for the descriptor's implementation, attributes and tensors; else what build() makes,
// which the cache then keeps. where says which of the two it was.
std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd,
                                           std::initializer_list<const memory_desc *> tensors,
                                           cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build);

} // namespace zemm

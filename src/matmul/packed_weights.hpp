// SPDX-License-Identifier: Apache-2.0
// Packed weights: the blocked layouts that kernels read best, reported for tag any and made by a reorder.
//   8-bit and 4-bit integers   BA16a64b4a (batched aCB16b64c4b, ...): panels of 64 columns, fours of K
//   together f32, f16, bf16             BA16a64b (aCB16b64c, ...): panels of 64 columns, one row of K after
//   the other
#pragma once

#include "common/memory_desc.hpp"

namespace zemm::matmul {

// The plain layout with K innermost.
memory_desc weights_along_k(const memory_desc &md);
// The packed layout of a tensor, of the same dimensions and type.
memory_desc packed_weights(const memory_desc &md);
// Whether a tensor has that layout; batches may be strided.
bool is_packed_weights(const memory_desc &md);

} // namespace zemm::matmul

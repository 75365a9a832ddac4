// SPDX-License-Identifier: Apache-2.0
// The packed layouts of weights, which kernels read best. Descriptors with tag any get them, and a
// reorder writes them. Both have panels of 64 columns:
//   8-bit and 4-bit types     BA16a64b4a: for each four of K, the four elements of each column
//   2-bit types               BA16a16b4a4b: the same for each four columns, whose elements of the same k
//   share
//                             a byte, so that the four bytes of K come out of an int by a shift and a mask
//   f32, f16, bf16            BA16a64b: one row of K after the other
// With a batch dimension they are aCB16b64c4b and aCB16b64c, and so on.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm::matmul {

// The plain layout with K innermost.
memory_desc weights_along_k(const memory_desc &md);
// The packed layout for a tensor's dimensions and type.
memory_desc packed_weights(const memory_desc &md);
// Whether weights have the packed encoding, in which their zeros are left out.
bool is_sparse_packed(const memory_desc &md);
// The descriptor of such weights with their layout: that of packed_weights(), without the zeros.
memory_desc with_packed_layout(const memory_desc &md);
// Whether a tensor has its packed layout. The strides of the batch may be any.
bool is_packed_weights(const memory_desc &md);

} // namespace zemm::matmul

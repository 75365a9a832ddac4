// SPDX-License-Identifier: Apache-2.0
// Tensors of an inner product as matrices: the first dimension, and all others as one.
#pragma once

#include <optional>
#include <vector>

#include "common/memory_desc.hpp"

namespace zemm::inner_product {

// The dimensions of a tensor but the first one, from the outermost to the innermost.
using dim_order = std::vector<int>;

dim_order row_major(int ndims);
dim_order channels_last(int ndims);
// The order of the strides of a blocked descriptor.
dim_order order_of(const memory_desc &md);

// The dims of md as a dense tensor. first_is_innermost: the first dimension is inside of the others instead
// of outside.
memory_desc dense_in(const dim_order &order, const memory_desc &md, bool first_is_innermost = false);

// The matrix whose columns are md's dimensions in this order; nothing if they do not lie so that one stride
// leads from each to the next.
std::optional<memory_desc> flatten(const memory_desc &md, const dim_order &order);

// The reverse: md with the layout that flatten() makes the matrix of; nothing if there is none, as where a
// block of the matrix has columns of two rows of the innermost dimension.
std::optional<memory_desc> unflatten(const memory_desc &matrix, const memory_desc &md,
                                     const dim_order &order);

} // namespace zemm::inner_product

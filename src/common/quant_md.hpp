// SPDX-License-Identifier: Apache-2.0
// Descriptors of parameter tensors: scales, zero points, reductions.
#pragma once

#include "common/attr.hpp"

namespace zemm {

// Dense row-major. Unlike md_with_strides it takes 4-bit types with odd dimensions, as parameters have them.
memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);
// The parameter tensor of a tensor: the tensor's dimension where the mask has its bit and 1 elsewhere, the
// last two divided by the groups.
memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry);

} // namespace zemm

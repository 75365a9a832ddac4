// SPDX-License-Identifier: Apache-2.0
// Parameter tensors (scales, zero points, reductions): their descriptors, and which elements share a value.
#pragma once

#include "common/attr.hpp"

namespace zemm {

// Dense row-major. Unlike md_with_strides it takes 4-bit types with odd dimensions, as parameters have them.
memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);
// The parameter tensor of a tensor: the tensor's dimension where the mask has its bit and 1 elsewhere, the
// last two divided by the groups.
memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry);
// Elements of a group along dimension d of a tensor; 1 if the entry has no groups there.
zemm_dim_t group_size(const quant_entry &entry, int ndims, int d);
// Elements along dimension d that share one value: a group, or all if the mask has no bit for d.
zemm_dim_t group_along(const memory_desc &tensor, const quant_entry &entry, int d);

// What the kernels' arguments for parameter tensors say besides strides.
template <typename Argument>
void set_parameter(Argument &to, const memory_desc &tensor, const quant_entry &entry) {
    to.row_group = group_size(entry, tensor.ndims, tensor.ndims - 2);
    to.column_group = group_size(entry, tensor.ndims, tensor.ndims - 1);
    to.data_type = entry.data_type;
    to.on_host = entry.is_on_host;
}

} // namespace zemm

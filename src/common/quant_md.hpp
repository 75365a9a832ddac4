// SPDX-License-Identifier: Apache-2.0
// Parameter tensors (scales, zero points, reductions): their descriptors, and which elements of the
// quantised tensor share a value.
#pragma once

#include "common/attr.hpp"

namespace zemm {

// A dense row-major descriptor. Unlike md_with_strides() it accepts rows of an odd number of 4-bit
// elements, which parameter tensors may have.
memory_desc md_dense(int ndims, const zemm_dim_t *dims, zemm_data_type_t dt);
// The descriptor of a tensor's parameters. A dimension with a bit in the mask has one value per
// group, or per element if there are no groups. Any other dimension is 1.
memory_desc md_of_quant(const memory_desc &tensor, const quant_entry &entry);
// The size of a group along dimension d of a tensor; 1 if the entry has no groups there.
zemm_dim_t group_size(const quant_entry &entry, int ndims, int d);
// The number of elements along dimension d that share a value: a group, or all if the mask has no
// bit for d.
zemm_dim_t group_along(const memory_desc &tensor, const quant_entry &entry, int d);

// What common/scalings.def says about scales that are computed for floats of 8 and 4 bits. mode: dynamic_mx
// or dynamic_fp.
struct float_scaling {
    zemm_data_type_t type; // of the scales
    zemm_dim_t group;      // elements that share a scale
};
float_scaling float_scaling_of(zemm_quantization_mode_t mode);

// Sets everything but the strides in a kernel's argument for a parameter tensor.
template <typename Argument>
void set_parameter(Argument &to, const memory_desc &tensor, const quant_entry &entry) {
    to.row_group = group_size(entry, tensor.ndims, tensor.ndims - 2);
    to.column_group = group_size(entry, tensor.ndims, tensor.ndims - 1);
    to.data_type = entry.data_type;
    to.on_host = entry.is_on_host;
}

} // namespace zemm

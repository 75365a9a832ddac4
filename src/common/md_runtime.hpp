// SPDX-License-Identifier: Apache-2.0
// Descriptors with runtime dimensions, strides or offsets: values that are known at execution only.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

// Whether actual, which has no runtime values, is one of the tensors that asked describes: equal to
// it wherever asked is known. Data types and offsets are not compared.
bool md_fits(const memory_desc &actual, const memory_desc &asked);

// A dense descriptor in the order of asked's dimensions, with these dims.
memory_desc md_with_dims(const memory_desc &asked, const zemm_dim_t *dims);

// The product; a runtime value if a factor is one.
zemm_dim_t runtime_product(zemm_dim_t a, zemm_dim_t b);

// A bit for each runtime dimension.
int runtime_dims_mask(const memory_desc &md);

} // namespace zemm

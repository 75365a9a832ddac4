// SPDX-License-Identifier: Apache-2.0
// A matmul that quantises a floating-point src to s8 first (zemm_primitive_attr_set_src_dyn_quant_params).
#pragma once

#include <optional>

#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

// The problem's tensors in place of its src: the values, their scales and the sums of the values.
struct quantized_src {
    memory_desc values;              // s8, row-major
    quant_entry scales;              // f32, along K
    std::optional<quant_entry> sums; // none if an s32 may not hold them
};
quantized_src quantized_src_of(const problem &p);

// The problem after src was quantised.
problem with_quantized_src(problem p);

// Throws invalid_arguments or unimplemented if src cannot be quantised.
void check_quantized_src(const problem &p);

} // namespace zemm::matmul

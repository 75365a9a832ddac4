// SPDX-License-Identifier: Apache-2.0
// Dynamic quantisation as a primitive of its own, by the name of oneDNN's draft (RFC of July 2026). A
// reorder computes it. Here are the draft's descriptors of scales and zero points, which are outputs.
#pragma once

#include <memory>

#include "primitive/primitive_desc.hpp"

namespace zemm::reorder {

// The arguments of zemm_dynamic_quantize_primitive_desc_create(). zero_point, reductions, attr: may be NULL.
struct dynamic_quantize_request {
    zemm_alg_kind_t alg;
    const memory_desc &src, &dst, &scale;
    const memory_desc *zero_point, *reductions;
    const zemm_primitive_attr *attr;
};

// Throws invalid_arguments if the tensors do not belong together, unimplemented if zemm lacks the form.
std::unique_ptr<zemm_primitive_desc> make_dynamic_quantize_desc(zemm_engine_t engine,
                                                                const dynamic_quantize_request &request);

} // namespace zemm::reorder

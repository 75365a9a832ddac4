// SPDX-License-Identifier: Apache-2.0
// Primitive descriptors of the steps of a mixture of experts beside its products: launches of experts.cl.
#pragma once

#include <memory>

#include "experts/experts.h"
#include "primitive/primitive_desc.hpp"

namespace zemm::experts {

// Throws invalid_arguments for other steps, types and sizes than experts.h names.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const zemm_experts_t &step);

} // namespace zemm::experts

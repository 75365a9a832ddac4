// SPDX-License-Identifier: Apache-2.0
// Primitive descriptors of attention: a launch of attention.cl.
#pragma once

#include <memory>

#include "attention/attention.h"
#include "primitive/primitive_desc.hpp"

namespace zemm::attention {

// Throws invalid_arguments for other types and sizes than attention.h names.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, const zemm_attention_t &asked);

} // namespace zemm::attention

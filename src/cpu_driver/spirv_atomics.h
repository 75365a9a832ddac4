// SPDX-License-Identifier: Apache-2.0
//
// The functions that the OpenCL runtime calls for SPIR-V's atomic instructions.
#pragma once

#include <optional>

#include "spirv.h"
#include "spirv_ids.h"

namespace ze_cpu {

/// The OpenCL C function that the OpenCL runtime calls for an atomic instruction; nothing for other
/// instructions.
std::optional<ImportedFunction> atomic_function(const spirv::Instruction &i, const spirv::Ids &ids);

} // namespace ze_cpu

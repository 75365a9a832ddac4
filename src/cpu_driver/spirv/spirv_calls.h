// SPDX-License-Identifier: Apache-2.0
//
// The functions that the OpenCL runtime calls for some of SPIR-V's instructions. If the driver has
// such a function itself (builtins.cpp), it is linked in instead of the runtime's.
#pragma once

#include <optional>

#include "imported_function.h"
#include "spirv_ids.h"

namespace ze_cpu {

/// The OpenCL C function that the OpenCL runtime calls for an atomic instruction, or for fma() of
/// f16 that are no vectors. Nothing for other instructions.
std::optional<ImportedFunction> runtime_function(const spirv::Instruction &i, const spirv::Ids &ids);

} // namespace ze_cpu

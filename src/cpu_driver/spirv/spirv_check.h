// SPDX-License-Identifier: Apache-2.0
//
// The check of SPIR-V modules before the OpenCL runtime sees them.
#pragma once

#include <string>
#include <vector>

#include "spirv_ids.h"

namespace ze_cpu {

/// Checks a module before anything else reads it. Instructions must have the shapes and the order
/// of the SPIR-V specification. Ids must be in range, defined once, and of the kind and type that
/// their use asks for. Intel's OpenCL runtime trusts what it reads, and much of what is refused
/// here would end the process. What the runtime judges itself is left to it: capabilities,
/// extensions, what a CPU can do. This is no full validator (spirv-val is one): a module that is
/// made to mislead may still pass. Fills `ids`, which point into `words`.
bool check_spirv(const std::vector<uint32_t> &words, spirv::Ids &ids, std::string &error);

} // namespace ze_cpu

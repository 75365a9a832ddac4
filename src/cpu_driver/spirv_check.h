// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "spirv_ids.h"

namespace ze_cpu {

/// Checks a module of SPIR-V words before anything else looks at it: that instructions have the shapes of the
/// specification and come in its order, that ids are in range, defined once and of the kind and type that
/// their use asks for. Intel's OpenCL runtime trusts what it reads and ends the process on much of what is
/// refused here. What it can judge itself is left to it: capabilities, extensions, what is of use on a CPU.
/// It is no full validator (that is spirv-val): a module made to mislead may still pass. Fills `ids`, which
/// point into `words`.
bool check_spirv(const std::vector<uint32_t> &words, spirv::Ids &ids, std::string &error);

} // namespace ze_cpu

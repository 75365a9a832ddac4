// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ze_cpu {

/// Checks a module of SPIR-V words before anything else looks at it: the header, that instructions fit into
/// the module and are long enough, that ids are in range, defined once and of the kind that their use asks
/// for, that functions and blocks are whole. Intel's OpenCL runtime trusts what it reads and ends the process
/// on much of what is refused here. It is no full validator (that is spirv-val): a module made to mislead may
/// still pass.
bool check_spirv(const std::vector<uint32_t> &words, std::string &error);

} // namespace ze_cpu

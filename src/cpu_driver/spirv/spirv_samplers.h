// SPDX-License-Identifier: Apache-2.0
//
// Replaces constant samplers that the OpenCL runtime cannot handle.
#pragma once

#include <cstdint>
#include <vector>

namespace ze_cpu {

/// Makes constant samplers clamp to the edge if they repeat the image for coordinates that are not
/// normalised. OpenCL does not define such samplers, and the runtime would end the process. `words`
/// must be a module that check_spirv() has accepted.
void clamp_samplers(std::vector<uint32_t> &words);

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ze_cpu {

/// Samplers that are constants of a module and repeat the image for coordinates that are not normalised clamp
/// it instead. OpenCL leaves open what they do, and the runtime would end the process. `words` are checked.
void clamp_samplers(std::vector<uint32_t> &words);

} // namespace ze_cpu

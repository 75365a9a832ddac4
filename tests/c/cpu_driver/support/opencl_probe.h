// SPDX-License-Identifier: Apache-2.0
//
// Calls of the OpenCL runtime below the driver, without the driver.
#pragma once

#include <cstdint>
#include <vector>

/// Whether the runtime builds the module. The driver must be open, because it loads the runtime.
bool opencl_builds(const std::vector<uint8_t> &code);

// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL runtime under the driver, asked without it.
#pragma once

#include <cstdint>
#include <vector>

/// Whether it builds the module. The driver has to be open.
bool opencl_builds(const std::vector<uint8_t> &code);

// SPDX-License-Identifier: Apache-2.0
//
// Loading of Intel's OpenCL CPU runtime.
#pragma once

#include <string>

#include <level_zero/ze_api.h>

#include "opencl_api.h"

namespace ze_cpu {

/// Finds and opens Intel's OpenCL CPU runtime and fills `api` with its functions. On failure,
/// `error` is a sentence that names what is missing and which package has it. The result is then
/// DEPENDENCY_UNAVAILABLE, or another one if a later attempt may succeed. The library stays open
/// for the life of the process, because its worker threads outlive all handles of this driver.
ze_result_t load_opencl(cl::Api &api, std::string &error);

} // namespace ze_cpu

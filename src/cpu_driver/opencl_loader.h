// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <level_zero/ze_api.h>

#include "opencl_api.h"

namespace ze_cpu {

/// Finds and opens Intel's OpenCL CPU runtime and fills `api` with its functions.
/// On failure puts into `error` a sentence that names what is missing and which package has it, and returns
/// DEPENDENCY_UNAVAILABLE, or another result if the failure may pass. The library stays open for the life of
/// the process: its worker threads outlive any handle of ours.
ze_result_t load_opencl(cl::Api &api, std::string &error);

} // namespace ze_cpu

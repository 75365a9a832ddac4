// SPDX-License-Identifier: Apache-2.0
//
// The settings of the OpenCL runtime, which change what its compiler makes: the file cl.cfg beside
// it, and variables of the environment.
#pragma once

#include <string>

namespace ze_cpu {

/// All settings as one text, which is another one for other settings. `function` is any function of
/// the runtime. Only the first call reads them.
void read_runtime_settings(const void *function);
const std::string &runtime_settings();

} // namespace ze_cpu

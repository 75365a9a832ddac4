// SPDX-License-Identifier: Apache-2.0
//
// Translation of Level Zero's build flags into OpenCL build options.
#pragma once

#include <string>

namespace ze_cpu {

/// The OpenCL options for the flags of a ze_module_desc_t (null: no flags). Unknown flags are left
/// out, each with a warning in `log`.
std::string translate_flags(const char *flags, std::string &log);

/// The options of a build that clLinkProgram takes as well.
std::string link_options(const std::string &options);

} // namespace ze_cpu

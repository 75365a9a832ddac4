// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ze_cpu {

/// The flags of ze_module_desc_t as OpenCL options. What is not known is named in `log` and left out.
std::string translate_flags(const char *flags, std::string &log);

/// Those of the options of a build that are for the linker, too.
std::string link_options(const std::string &options);

} // namespace ze_cpu

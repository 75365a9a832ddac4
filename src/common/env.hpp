// SPDX-License-Identifier: Apache-2.0
// Access to environment variables.
#pragma once

#include <string>
#include <vector>

namespace zemm {

// The value of a variable; "" if it is not set.
std::string env(const char *name);
// The parts of the text between commas, without empty ones.
std::vector<std::string> comma_list(const std::string &text);

} // namespace zemm

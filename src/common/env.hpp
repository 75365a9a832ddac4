// SPDX-License-Identifier: Apache-2.0
// Environment variables of the library.
#pragma once

#include <string>
#include <vector>

namespace zemm {

// The value of a variable, "" when it is not set.
std::string env(const char *name);
// The parts between commas.
std::vector<std::string> comma_list(const std::string &text);

} // namespace zemm

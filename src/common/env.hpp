// SPDX-License-Identifier: Apache-2.0
// Access to environment variables.
#pragma once

#include <string>
#include <vector>

namespace zemm {

// The value of a variable; "" if it is not set. After read_onednn_variables() a variable
// ZEMM_<setting> that is not set takes the value of oneDNN's ONEDNN_<setting> or DNNL_<setting>,
// for the settings that both libraries have.
std::string env(const char *name);
void read_onednn_variables();
// The parts of the text between commas, without empty ones.
std::vector<std::string> comma_list(const std::string &text);

} // namespace zemm

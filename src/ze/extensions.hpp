// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "ze/api.hpp"

namespace zemm::ze {

// Names of the extensions that a driver reports.
std::set<std::string> extensions_of(const api &fn, ze_driver_handle_t driver);

} // namespace zemm::ze

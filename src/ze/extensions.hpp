// SPDX-License-Identifier: Apache-2.0
// Which Level Zero extensions a driver reports.
#pragma once

#include <set>
#include <string>

#include "ze/api.hpp"

namespace zemm::ze {

// Their names, such as "ZE_extension_device_ip_version". Throws if the driver fails.
std::set<std::string> extensions_of(const api &fn, ze_driver_handle_t driver);

} // namespace zemm::ze

// SPDX-License-Identifier: Apache-2.0
// Asks a driver for its extensions.
#include "ze/extensions.hpp"

#include <cstring>
#include <vector>

namespace zemm::ze {

std::set<std::string> extensions_of(const api &fn, ze_driver_handle_t driver) {
    uint32_t count = 0;
    check(fn.zeDriverGetExtensionProperties(driver, &count, nullptr), "zeDriverGetExtensionProperties");
    std::vector<ze_driver_extension_properties_t> extensions(count);
    if (count)
        check(fn.zeDriverGetExtensionProperties(driver, &count, extensions.data()),
              "zeDriverGetExtensionProperties");
    std::set<std::string> names;
    for (const ze_driver_extension_properties_t &e : extensions)
        names.emplace(e.name, strnlen(e.name, sizeof e.name));
    return names;
}

} // namespace zemm::ze

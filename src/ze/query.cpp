// SPDX-License-Identifier: Apache-2.0
#include "ze/query.hpp"

#include <cstring>

namespace zemm::ze {
namespace {

bool is_cpu_driver(const api &fn, ze_driver_handle_t driver) {
    auto properties = structure<ze_driver_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
    return fn.zeDriverGetProperties(driver, &properties) == ZE_RESULT_SUCCESS &&
           std::memcmp(properties.uuid.id, "ze-cpu-driver-01", sizeof properties.uuid.id) == 0;
}

} // namespace

std::set<std::string> extensions_of(const api &fn, ze_driver_handle_t driver) {
    std::set<std::string> names;
    for (const ze_driver_extension_properties_t &e :
         all_properties_of(fn.zeDriverGetExtensionProperties, driver, {}, "zeDriverGetExtensionProperties"))
        names.emplace(e.name, strnlen(e.name, sizeof e.name));
    return names;
}

zemm_engine_kind_t kind_of(const api &fn, ze_driver_handle_t driver, ze_device_type_t type) {
    if (type == ZE_DEVICE_TYPE_CPU)
        return zemm_cpu;
    if (type == ZE_DEVICE_TYPE_GPU)
        return is_cpu_driver(fn, driver) ? zemm_cpu : zemm_gpu;
    return zemm_any_engine;
}

} // namespace zemm::ze

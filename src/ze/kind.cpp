// SPDX-License-Identifier: Apache-2.0
// Tells CPUs from GPUs by the type of the device and the UUID of libze_cpu.so.
#include "ze/kind.hpp"

#include <cstring>

namespace zemm::ze {
namespace {

bool is_cpu_driver(const api &fn, ze_driver_handle_t driver) {
    ze_driver_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    return fn.zeDriverGetProperties(driver, &properties) == ZE_RESULT_SUCCESS &&
           std::memcmp(properties.uuid.id, "ze-cpu-driver-01", sizeof properties.uuid.id) == 0;
}

} // namespace

zemm_engine_kind_t kind_of(const api &fn, ze_driver_handle_t driver, ze_device_type_t type) {
    if (type == ZE_DEVICE_TYPE_CPU)
        return zemm_cpu;
    if (type == ZE_DEVICE_TYPE_GPU)
        return is_cpu_driver(fn, driver) ? zemm_cpu : zemm_gpu;
    return zemm_any_engine;
}

} // namespace zemm::ze

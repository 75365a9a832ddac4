// SPDX-License-Identifier: Apache-2.0
// Queries of drivers. All functions throw if the driver fails; `call` is the query's name.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ze/api.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

// The properties of a driver or device; the driver also fills the structure `next`.
template <class Handle, class T>
T properties_of(ze_result_t (*query)(Handle, T *), Handle handle, ze_structure_type_t type, const char *call,
                void *next = nullptr) {
    auto properties = structure<T>(type);
    properties.pNext = next;
    check(query(handle, &properties), call);
    return properties;
}

// The properties of each of its parts.
template <class Handle, class T>
std::vector<T> all_properties_of(ze_result_t (*query)(Handle, uint32_t *, T *), Handle handle, const T &empty,
                                 const char *call) {
    uint32_t count = 0;
    check(query(handle, &count, nullptr), call);
    std::vector<T> list(count, empty);
    if (count)
        check(query(handle, &count, list.data()), call);
    list.resize(std::min<size_t>(count, list.size()));
    return list;
}

// The names of a driver's extensions, such as "ZE_extension_device_ip_version".
std::set<std::string> extensions_of(const api &fn, ze_driver_handle_t driver);
// zemm_cpu, zemm_gpu, or zemm_any_engine for a device that is neither. The device of libze_cpu.so
// is zemm_cpu even if ZE_CPU_AS_GPU=1 makes it report the type GPU. Does not throw.
zemm_engine_kind_t kind_of(const api &fn, ze_driver_handle_t driver, ze_device_type_t type);

} // namespace zemm::ze

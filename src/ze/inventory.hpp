// SPDX-License-Identifier: Apache-2.0
// Which devices the process can use.
#pragma once

#include <string>
#include <vector>

#include "ze/api.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

struct found_device {
    const api *fn;
    ze_driver_handle_t driver;
    ze_device_handle_t handle;
};

struct inventory {
    std::vector<found_device> gpus, cpus;
    std::string why_no_gpu, why_no_cpu; // what is missing when the list is empty
};

// Devices of all drivers that the loader reports; looked for once.
const inventory &loader_devices();
// Devices of one kind: the loader's, or for zemm_cpu those of libze_cpu.so if the loader reports none.
// Anything but zemm_cpu and zemm_gpu: invalid_arguments.
const std::vector<found_device> &devices_of(zemm_engine_kind_t kind, std::string &why);
// The functions of the CPU driver if the handle is one of its devices, without opening it for that; else
// nullptr.
const api *own_cpu_api_of(ze_device_handle_t handle);

} // namespace zemm::ze

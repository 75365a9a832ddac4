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

// Devices of one kind: the loader's, or for zemm_cpu those of libze_cpu.so if the loader reports none. They
// are looked for until they are known for good. why: what is missing when the list is empty, what failed when
// it may lack some. Anything but zemm_cpu and zemm_gpu: invalid_arguments.
std::vector<found_device> devices_of(zemm_engine_kind_t kind, absence &why);
// The functions of the CPU driver if the handle is one of its devices, without opening it for that; else
// nullptr.
const api *own_cpu_api_of(ze_device_handle_t handle);

} // namespace zemm::ze

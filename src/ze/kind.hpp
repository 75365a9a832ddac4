// SPDX-License-Identifier: Apache-2.0
// Which kind of engine a device makes.
#pragma once

#include "ze/api.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

// zemm_cpu or zemm_gpu; zemm_any_engine for a device that is neither. A device of libze_cpu.so is a CPU also
// when ZE_CPU_AS_GPU=1 makes it say that it is a GPU.
zemm_engine_kind_t kind_of(const api &fn, ze_driver_handle_t driver, ze_device_type_t type);

} // namespace zemm::ze

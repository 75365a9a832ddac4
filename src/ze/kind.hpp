// SPDX-License-Identifier: Apache-2.0
// Whether a Level Zero device serves as a CPU engine or a GPU engine.
#pragma once

#include "ze/api.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

// zemm_cpu, zemm_gpu, or zemm_any_engine for a device that is neither. The device of libze_cpu.so
// is zemm_cpu even if ZE_CPU_AS_GPU=1 makes it report the type GPU.
zemm_engine_kind_t kind_of(const api &fn, ze_driver_handle_t driver, ze_device_type_t type);

} // namespace zemm::ze

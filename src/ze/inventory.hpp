// SPDX-License-Identifier: Apache-2.0
// The list of Level Zero devices that the process can use.
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

// The devices of one kind, from the loader; for zemm_cpu from libze_cpu.so if the loader reports
// none. The result is kept, unless the search failed for a reason that may pass: the next call then
// searches again. why says what is missing if the list is empty, or what failed if the list may be
// incomplete. Throws invalid_arguments if kind is neither zemm_cpu nor zemm_gpu.
std::vector<found_device> devices_of(zemm_engine_kind_t kind, absence &why);
// The functions of libze_cpu.so if the handle is a device of it, else nullptr. Does not open
// libze_cpu.so.
const api *own_cpu_api_of(ze_device_handle_t handle);

} // namespace zemm::ze

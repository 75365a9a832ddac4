// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <level_zero/ze_api.h>

// There is one driver with one device; the objects only give the handles an address.
struct _ze_driver_handle_t {};
struct _ze_device_handle_t {};
struct _ze_context_handle_t {
    ze_driver_handle_t driver = nullptr;
};

namespace ze_cpu {

/// Raised when modules are built in another way: caches of native binaries know them by it.
inline constexpr uint32_t own_version = ZE_MAKE_VERSION(1, 2);

/// True with ZE_CPU_AS_GPU=1 in the environment: the device says that it is a GPU. Programs that use no other
/// kind of device (SYCL's runtime, most samples) run on it then.
bool answers_as_gpu();

ze_driver_handle_t the_driver();
ze_context_handle_t default_context(); // belongs to the driver
ze_device_handle_t the_device();

} // namespace ze_cpu

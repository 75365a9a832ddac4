// SPDX-License-Identifier: Apache-2.0
//
// The handles of the driver, the device and contexts, and the driver's own version.
#pragma once

#include <level_zero/ze_api.h>

// There is one driver with one device. These objects only give their handles an address.
struct _ze_driver_handle_t {};
struct _ze_device_handle_t {};
struct _ze_context_handle_t {
    ze_driver_handle_t driver = nullptr;
};

namespace ze_cpu {

/// The driver's version. Native binaries of another version are refused, so it must be raised
/// whenever the driver builds modules in another way.
inline constexpr uint32_t own_version = ZE_MAKE_VERSION(1, 2);

/// True if ZE_CPU_AS_GPU=1 is in the environment: the device then says that it is a GPU. Programs
/// that use no other kind of device (SYCL's runtime, most samples) can then run on it.
bool answers_as_gpu();

ze_driver_handle_t the_driver();
ze_context_handle_t default_context(); // owned by the driver
ze_device_handle_t the_device();

} // namespace ze_cpu

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

/// A hash of the sources that decide what native binaries contain (meson.build has the list).
/// Binaries carry it.
extern const uint64_t build_id;

/// The driver's version. The major number grows with releases. The minor number is 16 bits of a hash
/// of build_id and of the runtime's settings: caches of native binaries see by it that this driver
/// would make other binaries. Only to be called once the runtime is open.
uint32_t own_version();

/// True if ZE_CPU_AS_GPU=1 is in the environment: the device then says that it is a GPU. Programs
/// that use no other kind of device (SYCL's runtime, most samples) can then run on it.
bool answers_as_gpu();

ze_driver_handle_t the_driver();
ze_context_handle_t default_context(); // owned by the driver
ze_device_handle_t the_device();

} // namespace ze_cpu

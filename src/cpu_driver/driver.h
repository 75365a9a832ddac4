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

/// A hash of the sources that decide what native binaries are (meson.build has the list). Binaries carry it.
extern const uint64_t build_id;

/// The driver's version. The major number grows with releases. The minor one is 16 bits of build_id: caches
/// of native binaries know by it that this driver would make others.
inline uint32_t own_version() {
    return ZE_MAKE_VERSION(2, uint32_t(build_id >> 48));
}

/// True with ZE_CPU_AS_GPU=1 in the environment: the device says that it is a GPU. Programs that use no other
/// kind of device (SYCL's runtime, most samples) run on it then.
bool answers_as_gpu();

ze_driver_handle_t the_driver();
ze_context_handle_t default_context(); // belongs to the driver
ze_device_handle_t the_device();

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <cstdlib>
#include <cstring>

#include "border/hash.h"
#include "opencl/runtime_settings.h"

namespace ze_cpu {
namespace {

_ze_driver_handle_t driver;
_ze_device_handle_t device;
_ze_context_handle_t context_of_driver{&driver};

} // namespace

bool answers_as_gpu() {
    // Read once: a device whose type changes would confuse every program.
    static const bool answer = [] {
        const char *value = secure_getenv("ZE_CPU_AS_GPU");
        return value && std::strcmp(value, "1") == 0;
    }();
    return answer;
}

uint32_t own_version() {
    return ZE_MAKE_VERSION(2, uint32_t((build_id ^ hash_of(runtime_settings())) >> 48));
}

ze_driver_handle_t the_driver() {
    return &driver;
}
ze_context_handle_t default_context() {
    return &context_of_driver;
}
ze_device_handle_t the_device() {
    return &device;
}

} // namespace ze_cpu

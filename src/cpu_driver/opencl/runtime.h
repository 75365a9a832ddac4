// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL runtime: its one device and context in this process, and what was read about the
// device when it was opened.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <level_zero/ze_api.h>

#include "opencl_api.h"

namespace ze_cpu {

struct DeviceInfo {
    std::string name;
    std::string driver_version;
    std::string extensions;
    uint32_t vendor_id = 0;
    uint32_t compute_units = 1;
    uint32_t clock_mhz = 0;
    uint32_t vector_width_int = 1;
    uint32_t spirv_version = 0; // newest that the runtime takes, as ZE_MAKE_VERSION
    uint64_t max_alloc_size = 0;
    uint64_t global_size = 0;
    uint64_t local_size = 0;
    uint64_t cache_size = 0;
    size_t max_group_size = 1;
    std::array<size_t, 3> max_group_sizes{1, 1, 1};
    size_t max_parameter_size = 0;
    size_t printf_buffer_size = 0;
    std::vector<size_t> sub_group_sizes;
    uint64_t fp16 = 0, fp32 = 0, fp64 = 0; // OpenCL fp config bits

    bool has(const char *extension) const;
};

struct Runtime {
    cl::Api api;
    cl::Platform platform = nullptr;
    cl::Device device = nullptr;
    cl::Context context = nullptr;
    DeviceInfo info;
};

/// Opens the runtime, which the gate must watch already, unless an earlier call has. DEPENDENCY_UNAVAILABLE:
/// it is missing, and this process does not look for it again. After any other error the next call tries
/// again.
ze_result_t open_runtime();

/// A sentence that says why this thread's last open_runtime failed; empty if it did not.
const char *runtime_error();

/// The opened runtime. Only to be called after open_runtime has succeeded, which the existence of
/// any handle proves.
Runtime &runtime();

inline const cl::Api &opencl() {
    return runtime().api;
}

/// Properties of the device, by OpenCL.
template <class T> T device_value(const Runtime &r, cl::Uint key, T fallback = T{}) {
    T value{};
    return r.api.clGetDeviceInfo(r.device, key, sizeof value, &value, nullptr) == cl::success ? value
                                                                                              : fallback;
}

/// The result for an OpenCL error, if the caller knows no better one.
ze_result_t from_opencl(cl::Int error);

/// The time in ns, by the clock of all timestamps: the one that the runtime's event profiling uses.
uint64_t timestamp_now();

} // namespace ze_cpu

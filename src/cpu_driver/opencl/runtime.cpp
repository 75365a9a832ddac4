// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>

#include <unistd.h>

#include "opencl_loader.h"
#include "process/fork_gate.h"
#include "process/room.h"
#include "process/signal_handlers.h"
#include "runtime_settings.h"
#include "stack/large_stack.h"
#include "thread_limit.h"

namespace ze_cpu {
namespace {

/// Leaked on purpose, like the runtime: at process exit commands may still run while static
/// destructors do.
struct Opening {
    std::mutex mutex;
    std::string missing; // why the runtime can never be opened in this process, or empty
};
Opening &opening() {
    static Opening *leaked = new Opening;
    return *leaked;
}
std::atomic<Runtime *> the_runtime{nullptr};

/// Why this thread's last call failed, in a buffer that no other thread changes.
thread_local char last_reason[4096] = "";

void set_reason(const std::string &reason) {
    std::snprintf(last_reason, sizeof last_reason, "%s", reason.c_str());
}

std::string device_string(const Runtime &r, cl::Uint key) {
    size_t size = 0;
    if (r.api.clGetDeviceInfo(r.device, key, 0, nullptr, &size) != cl::success || size == 0)
        return {};
    std::string text(size, '\0');
    if (r.api.clGetDeviceInfo(r.device, key, size, text.data(), nullptr) != cl::success)
        return {};
    text.resize(std::strlen(text.c_str()));
    return text;
}

/// Newest version in a list like "SPIR-V_1.0 SPIR-V_1.4".
uint32_t newest_spirv(const std::string &versions) {
    uint32_t newest = 0;
    for (size_t at = versions.find("SPIR-V_"); at != std::string::npos;
         at = versions.find("SPIR-V_", at + 1)) {
        unsigned major = 0, minor = 0;
        if (std::sscanf(versions.c_str() + at, "SPIR-V_%u.%u", &major, &minor) == 2)
            newest = std::max<uint32_t>(newest, ZE_MAKE_VERSION(major, minor));
    }
    return newest;
}

void read_info(Runtime &r) {
    DeviceInfo &d = r.info;
    d.name = device_string(r, cl::device_name);
    d.driver_version = device_string(r, cl::driver_version);
    d.extensions = " " + device_string(r, cl::device_extensions) + " ";
    d.vendor_id = device_value<cl::Uint>(r, cl::device_vendor_id);
    d.compute_units = std::max(1u, device_value<cl::Uint>(r, cl::device_max_compute_units, 1));
    d.clock_mhz = device_value<cl::Uint>(r, cl::device_max_clock_frequency);
    d.vector_width_int = std::max(1u, device_value<cl::Uint>(r, cl::device_native_vector_width_int, 1));
    d.spirv_version = newest_spirv(device_string(r, cl::device_il_version));
    d.max_alloc_size = device_value<cl::Ulong>(r, cl::device_max_mem_alloc_size);
    d.global_size = device_value<cl::Ulong>(r, cl::device_global_mem_size);
    d.local_size = device_value<cl::Ulong>(r, cl::device_local_mem_size);
    d.cache_size = device_value<cl::Ulong>(r, cl::device_global_mem_cache_size);
    d.max_group_size = device_value<size_t>(r, cl::device_max_work_group_size, 1);
    d.max_group_sizes = device_value<std::array<size_t, 3>>(r, cl::device_max_work_item_sizes, {1, 1, 1});
    d.max_parameter_size = device_value<size_t>(r, cl::device_max_parameter_size);
    d.printf_buffer_size = device_value<size_t>(r, cl::device_printf_buffer_size);
    d.fp16 = d.has("cl_khr_fp16") ? device_value<cl::Ulong>(r, cl::device_half_fp_config) : 0;
    d.fp32 = device_value<cl::Ulong>(r, cl::device_single_fp_config);
    d.fp64 = d.has("cl_khr_fp64") ? device_value<cl::Ulong>(r, cl::device_double_fp_config) : 0;
    size_t size = 0;
    if (r.api.clGetDeviceInfo(r.device, cl::device_sub_group_sizes_intel, 0, nullptr, &size) == cl::success) {
        d.sub_group_sizes.resize(size / sizeof(size_t));
        r.api.clGetDeviceInfo(r.device, cl::device_sub_group_sizes_intel, size, d.sub_group_sizes.data(),
                              nullptr);
    }
}

bool is_out_of_memory(ze_result_t result) {
    return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/// Returns DEPENDENCY_UNAVAILABLE if something is missing, and another error if the next attempt
/// may succeed.
ze_result_t open(Runtime &r, std::string &error) {
    error = lack_of_code();
    if (!error.empty())
        return ZE_RESULT_ERROR_UNKNOWN;
    if (ze_result_t result = load_opencl(r.api, error); result != ZE_RESULT_SUCCESS)
        return result;
    cl::Platform platforms[8] = {};
    cl::Uint count = 0;
    cl::Int status = r.api.clGetPlatformIDs(8, platforms, &count);
    if (status != cl::success)
        count = 0;
    for (cl::Uint i = 0; i < count && i < 8 && !r.device; i++) {
        r.platform = platforms[i];
        status = r.api.clGetDeviceIDs(r.platform, cl::device_type_cpu, 1, &r.device, nullptr);
        if (status != cl::success)
            r.device = nullptr;
    }
    if (!r.device && is_out_of_memory(from_opencl(status))) {
        error =
            "the OpenCL CPU runtime was opened but is out of memory (error " + std::to_string(status) + ")";
        return from_opencl(status);
    }
    if (!r.device) {
        error = "the OpenCL runtime was opened but reports no CPU device: reinstall the pip packages "
                "intel-opencl-rt "
                "and intel-cmplr-lib-rt";
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    void *set_pointer =
        r.api.clGetExtensionFunctionAddressForPlatform(r.platform, "clSetKernelArgMemPointerINTEL");
    r.api.clSetKernelArgMemPointerINTEL =
        reinterpret_cast<decltype(r.api.clSetKernelArgMemPointerINTEL)>(set_pointer);
    const auto shared_system = device_value<cl::Ulong>(r, cl::device_shared_system_mem_capabilities_intel);
    const auto execution = device_value<cl::Ulong>(r, cl::device_execution_capabilities);
    if (!set_pointer || !(shared_system & 1) || !(execution & cl::exec_native_kernel)) {
        error = "the OpenCL CPU runtime is too old: it lacks shared system memory or native kernels; update "
                "the pip "
                "packages intel-opencl-rt and intel-cmplr-lib-rt";
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    read_info(r);
    // The runtime starts its threads with the context.
    error = lack_of_threads(r.info.compute_units);
    if (!error.empty())
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    read_runtime_settings(reinterpret_cast<const void *>(r.api.clCreateContext));
    const SignalHandlers handlers(reinterpret_cast<const void *>(r.api.clCreateContext));
    // The context is created last: nothing after it throws or fails, so a failed attempt leaves no
    // context behind.
    r.context = r.api.clCreateContext(nullptr, 1, &r.device, nullptr, nullptr, &status);
    if (!r.context) {
        error = "the OpenCL CPU runtime cannot create a context (error " + std::to_string(status) + ")";
        if (access("/proc/self/maps", R_OK) != 0)
            error += std::string(": it reads /proc/self/maps, which this process cannot (") +
                     std::strerror(errno) + "): mount /proc";
        return status == cl::success ? ZE_RESULT_ERROR_UNKNOWN : from_opencl(status);
    }
    read_thread_limit(reinterpret_cast<const void *>(r.api.clCreateContext));
    return ZE_RESULT_SUCCESS;
}

} // namespace

bool DeviceInfo::has(const char *extension) const {
    return extensions.find(" " + std::string(extension) + " ") != std::string::npos;
}

ze_result_t open_runtime() {
    last_reason[0] = '\0';
    if (the_runtime)
        return ZE_RESULT_SUCCESS;
    Opening &o = opening();
    std::lock_guard lock(o.mutex);
    if (the_runtime)
        return ZE_RESULT_SUCCESS;
    if (!o.missing.empty()) {
        set_reason(o.missing);
        return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    }
    auto fresh = std::make_unique<Runtime>();
    std::string reason;
    const ze_result_t result = stack::with_large([&] { return open(*fresh, reason); },
                                                 [](const std::string &problem) {
                                                     set_reason(problem);
                                                     throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
                                                 });
    set_reason(reason);
    if (result == ZE_RESULT_SUCCESS) {
        the_runtime = fresh.release();
        ForkGate::watch_exit();
    } else if (result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)
        o.missing = std::move(reason);
    return result;
}

const char *runtime_error() {
    return last_reason;
}

Runtime &runtime() {
    return *the_runtime;
}

ze_result_t from_opencl(cl::Int error) {
    switch (error) {
    case cl::success:
        return ZE_RESULT_SUCCESS;
    case cl::mem_allocation_failure:
    case cl::out_of_resources:
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case cl::out_of_host_memory:
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    case cl::invalid_mem_object:
    case cl::invalid_arg_value:
    case cl::invalid_kernel_args:
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    case cl::invalid_work_group_size:
    case cl::invalid_work_item_size:
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    case cl::invalid_global_work_size:
        return ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
    default:
        return ZE_RESULT_ERROR_UNKNOWN;
    }
}

uint64_t timestamp_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

} // namespace ze_cpu

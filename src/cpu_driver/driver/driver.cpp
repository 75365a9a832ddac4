// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "device/handles.h"
#include "device/isa.h"
#include "event/host_wait.h"
#include "event/shared_events.h"
#include "opencl/runtime.h"
#include "opencl/thread_limit.h"
#include "process/fork_gate.h"
#include "stream/all_streams.h"
#include "stream/crew.h"
#include "stream/threadpool.h"

extern "C" {
ze_result_t zeCpuSetThreadLimit(uint32_t most);
uint32_t zeCpuGetThreadLimit();
void zeCpuSetThreadpool(const ze_cpu::Threadpool *pool);
}

namespace ze_cpu {
namespace {

struct Extension {
    const char *name;
    uint32_t version;
};
constexpr Extension extensions[] = {
    {"ZE_experimental_module_program", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_global_offset", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_scheduling_hints", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_kernel_allocation_properties", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_relaxed_allocation_limits", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_event_query_timestamps", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_immediate_command_list_append", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_event_pool_counter_based", ZE_MAKE_VERSION(1, 0)},
    {"ZE_experimental_image_memory_properties", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_event_query_kernel_timestamps", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_float_atomics", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_image_copy", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_image_query_alloc_properties", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_device_vector_sizes", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_subgroups", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_linkonce_odr", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_linkage_inspection", ZE_MAKE_VERSION(1, 0)},
    {"ZE_extension_kernel_max_group_size_properties", ZE_MAKE_VERSION(1, 0)},
};
constexpr uint32_t extension_count = sizeof extensions / sizeof extensions[0];

/// A function of this driver by its name; null if it has none. Programs ask so for functions that older
/// loaders do not export.
void *function_of(std::string_view name) {
#define OWN_FUNCTION(own)                                                                                    \
    if (name == #own)                                                                                        \
        return reinterpret_cast<void *>(&own);
    OWN_FUNCTION(zeCpuSetThreadLimit)
    OWN_FUNCTION(zeCpuGetThreadLimit)
    OWN_FUNCTION(zeCpuSetThreadpool)
#undef OWN_FUNCTION
#define ZE_CPU_TABLE(getter)
#define ZE_CPU_HAS(minor, function)                                                                          \
    if (name == #function)                                                                                   \
        return reinterpret_cast<void *>(&Gated<&function>::call);
#define ZE_CPU_NEWER(minor, function) ZE_CPU_HAS(minor, function)
#define ZE_CPU_LACKS(minor, function)
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter)
#include "border/tables.def"
    return nullptr;
}

/// Opens the runtime. Forks are watched from the first call on.
ze_result_t open() {
    static const bool watches = [] {
        ForkGate::Watched watched;
        watched.finish_queues = finish_queues;
        watched.wake_waiting = [] {
            wake_hosts();
            SharedEvents::wake_all();
        };
        watched.forget_waiting = forget_host_waits;
        ForkGate::watch_forks(watched);
        return true;
    }();
    (void)watches;
    const ze_result_t result = open_runtime();
    static std::once_flag prepared;
    if (result == ZE_RESULT_SUCCESS)
        std::call_once(prepared, crew::prepare);
    return result;
}

} // namespace

ze_result_t zeInit(ze_init_flags_t flags) {
    // The flags restrict the kinds of device that the program wants. None of them stands for CPUs.
    const ze_init_flags_t kinds = flags & (ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY);
    if (kinds && !(kinds & ZE_INIT_FLAG_GPU_ONLY && answers_as_gpu()))
        return ZE_RESULT_ERROR_UNINITIALIZED;
    return open();
}

ze_result_t zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers, InitDriverTypeDesc *desc) {
    need_pointers(pCount, desc);
    if (desc->flags == 0)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    // No flag stands for CPUs. A program asks for them with flags beyond those of GPUs and NPUs,
    // for example with all.
    const uint32_t foreign = init_driver_type_npu | (answers_as_gpu() ? 0 : init_driver_type_gpu);
    if ((desc->flags & ~foreign) == 0)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    if (ze_result_t result = zeInit(0); result != ZE_RESULT_SUCCESS)
        return result;
    return answer_list(1, pCount, phDrivers,
                       [](uint32_t, ze_driver_handle_t &handle) { handle = the_driver(); });
}

ze_result_t zeDriverGet(uint32_t *pCount, ze_driver_handle_t *phDrivers) {
    if (ze_result_t result = open(); result != ZE_RESULT_SUCCESS)
        return result == ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE ? ZE_RESULT_ERROR_UNINITIALIZED : result;
    return answer_list(1, pCount, phDrivers,
                       [](uint32_t, ze_driver_handle_t &handle) { handle = the_driver(); });
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t hDriver, ze_api_version_t *version) {
    need_handles(hDriver);
    need_pointers(version);
    *version = ze_api_version_t(ZE_MAKE_VERSION(1, newest_minor));
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t hDriver, ze_driver_properties_t *pDriverProperties) {
    need_handles(hDriver);
    need_pointers(pDriverProperties);
    static const uint8_t uuid[ZE_MAX_DRIVER_UUID_SIZE] = {0x7a, 0x65, 0x2d, 0x63, 0x70, 0x75, 0x2d, 0x64,
                                                          0x72, 0x69, 0x76, 0x65, 0x72, 0x2d, 0x30, 0x31};
    std::memcpy(pDriverProperties->uuid.id, uuid, sizeof uuid);
    pDriverProperties->driverVersion = own_version();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t hDriver, uint32_t *pCount,
                                           ze_driver_extension_properties_t *pExtensionProperties) {
    need_handles(hDriver);
    const auto &isa = isa_extensions();
    auto fill = [&](uint32_t i, ze_driver_extension_properties_t &to) {
        const Extension of_isa = {i < extension_count ? nullptr : isa[i - extension_count],
                                  ZE_MAKE_VERSION(1, 0)};
        const Extension &from = i < extension_count ? extensions[i] : of_isa;
        std::strncpy(to.name, from.name, sizeof to.name - 1);
        to.name[sizeof to.name - 1] = '\0';
        to.version = from.version;
    };
    return answer_list(uint32_t(extension_count + isa.size()), pCount, pExtensionProperties, fill);
}

ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t hDriver, const char *name,
                                                void **ppFunctionAddress) {
    need_handles(hDriver);
    need_pointers(name, ppFunctionAddress);
    *ppFunctionAddress = function_of(name);
    return *ppFunctionAddress ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver, const char **ppString) {
    need_handles(hDriver);
    need_pointers(ppString);
    *ppString = *runtime_error() ? runtime_error() : last_refusal();
    return ZE_RESULT_SUCCESS;
}

ze_context_handle_t zeDriverGetDefaultContext(ze_driver_handle_t hDriver) {
    return hDriver ? default_context() : nullptr;
}

// Level Zero's "runtime" (zer): its functions take no driver handle and use the default driver.

ze_result_t zerGetLastErrorDescription(const char **ppString) {
    return ze_cpu::zeDriverGetLastErrorDescription(the_driver(), ppString);
}

uint32_t zerTranslateDeviceHandleToIdentifier(ze_device_handle_t hDevice) {
    return hDevice == the_device() ? 0 : UINT32_MAX;
}

ze_device_handle_t zerTranslateIdentifierToDeviceHandle(uint32_t identifier) {
    return identifier == 0 ? the_device() : nullptr;
}

ze_context_handle_t zerGetDefaultContext() {
    return default_context();
}

} // namespace ze_cpu

/// Not part of Level Zero: why this thread's last zeInit failed, as a sentence that names what is
/// missing and the package that has it. Empty if it succeeded. For programs that open this library
/// without a loader.
extern "C" __attribute__((visibility("default"))) const char *zeCpuGetLastError(void) {
    return ze_cpu::runtime_error();
}

/// Not part of Level Zero: the most threads that compute at the same time, 0 for one for each CPU. Programs
/// get these functions by zeDriverGetExtensionFunctionAddress, once the driver is initialised.
extern "C" ze_result_t zeCpuSetThreadLimit(uint32_t most) {
    return ze_cpu::set_thread_limit(most, reinterpret_cast<const void *>(ze_cpu::opencl().clCreateContext))
               ? ZE_RESULT_SUCCESS
               : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/// How many threads that are.
extern "C" uint32_t zeCpuGetThreadLimit() {
    const uint32_t all = ze_cpu::runtime().info.compute_units, most = ze_cpu::thread_limit();
    return most ? std::min(most, all) : all;
}

/// The next immediate list that this thread creates, which is synchronous and of high priority, computes by
/// the threads of the pool (threadpool.h). NULL: it does not. Loaders may hand out handles of their own, and
/// their layers refuse unknown descriptors, so the function takes no list and is no descriptor.
extern "C" void zeCpuSetThreadpool(const ze_cpu::Threadpool *pool) {
    ze_cpu::Threadpool::of_next_list = pool ? std::optional(*pool) : std::nullopt;
}

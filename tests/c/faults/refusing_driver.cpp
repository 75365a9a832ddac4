// SPDX-License-Identifier: Apache-2.0
// Passes every call to the driver that REFUSING_DRIVER_TARGET names, unless a test refuses it.
#include "refusing_driver.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>
#include <type_traits>

#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

judges current;

// ---- things that still exist, recorded without allocations, because tests make these fail

struct live_thing {
    const char *maker; // the function that made it
    const void *handle;
};
live_thing things[1 << 14];
int thing_count = 0;
std::mutex things_lock;

void add(const char *maker, const void *handle) {
    const std::lock_guard hold(things_lock);
    if (thing_count == int(sizeof things / sizeof *things)) {
        std::fprintf(stderr, "too many things at once\n");
        std::abort();
    }
    things[thing_count++] = {maker, handle};
}

void remove(const char *destroyer, const void *handle) {
    const std::lock_guard hold(things_lock);
    for (int i = thing_count - 1; i >= 0; i--)
        if (things[i].handle == handle) {
            things[i] = things[--thing_count];
            return;
        }
    std::fprintf(stderr, "%s: there is no %p\n", destroyer, handle);
    std::abort();
}

// ---- calls

enum class effect {
    none,
    makes, // creates the thing that its last argument points to
    frees, // frees its last argument
};

template <typename... A> auto last(A... a) {
    return std::get<sizeof...(A) - 1>(std::tuple<A...>(a...));
}

ze_result_t judge(const char *name) {
    return current.call ? current.call(name) : ZE_RESULT_SUCCESS;
}

// Takes the place of the member at Offset in the driver's table.
template <typename Table, size_t Offset, effect Effect, typename Function> struct wrapped;
template <typename Table, size_t Offset, effect Effect, typename... A>
struct wrapped<Table, Offset, Effect, ze_result_t (*)(A...)> {
    static inline ze_result_t (*next)(A...);
    static inline const char *name;

    static ze_result_t call(A... a) {
        ze_result_t verdict = judge(name);
        if constexpr (std::is_same_v<decltype(last(a...)), ze_kernel_handle_t *>)
            if (verdict == ZE_RESULT_SUCCESS && current.kernel)
                verdict = current.kernel(*std::get<1>(std::tuple<A...>(a...)));
        if (verdict != ZE_RESULT_SUCCESS && Effect != effect::frees)
            return verdict;
        if constexpr (Effect == effect::frees)
            remove(name, last(a...));
        const ze_result_t result = next(a...);
        if constexpr (Effect == effect::makes)
            if (result == ZE_RESULT_SUCCESS)
                add(name, *last(a...));
        return verdict == ZE_RESULT_SUCCESS ? result : verdict;
    }

    static void put(ze_result_t (*&member)(A...), const char *as) {
        next = member;
        name = as;
        member = call;
    }
};

// X(function, table, member, effect)
#define CALLS(X)                                                                                             \
    X(zeInit, ze_global_dditable_t, pfnInit, none)                                                           \
    X(zeDriverGet, ze_driver_dditable_t, pfnGet, none)                                                       \
    X(zeDriverGetApiVersion, ze_driver_dditable_t, pfnGetApiVersion, none)                                   \
    X(zeDriverGetProperties, ze_driver_dditable_t, pfnGetProperties, none)                                   \
    X(zeDriverGetExtensionProperties, ze_driver_dditable_t, pfnGetExtensionProperties, none)                 \
    X(zeDeviceGet, ze_device_dditable_t, pfnGet, none)                                                       \
    X(zeDeviceGetProperties, ze_device_dditable_t, pfnGetProperties, none)                                   \
    X(zeDeviceGetComputeProperties, ze_device_dditable_t, pfnGetComputeProperties, none)                     \
    X(zeDeviceGetModuleProperties, ze_device_dditable_t, pfnGetModuleProperties, none)                       \
    X(zeDeviceGetCacheProperties, ze_device_dditable_t, pfnGetCacheProperties, none)                         \
    X(zeDeviceGetMemoryProperties, ze_device_dditable_t, pfnGetMemoryProperties, none)                       \
    X(zeDeviceGetMemoryAccessProperties, ze_device_dditable_t, pfnGetMemoryAccessProperties, none)           \
    X(zeDeviceGetCommandQueueGroupProperties, ze_device_dditable_t, pfnGetCommandQueueGroupProperties, none) \
    X(zeContextCreate, ze_context_dditable_t, pfnCreate, makes)                                              \
    X(zeContextDestroy, ze_context_dditable_t, pfnDestroy, frees)                                            \
    X(zeMemAllocHost, ze_mem_dditable_t, pfnAllocHost, makes)                                                \
    X(zeMemAllocDevice, ze_mem_dditable_t, pfnAllocDevice, makes)                                            \
    X(zeMemFree, ze_mem_dditable_t, pfnFree, frees)                                                          \
    X(zeMemGetAllocProperties, ze_mem_dditable_t, pfnGetAllocProperties, none)                               \
    X(zeMemGetAddressRange, ze_mem_dditable_t, pfnGetAddressRange, none)                                     \
    X(zeModuleDestroy, ze_module_dditable_t, pfnDestroy, frees)                                              \
    X(zeModuleGetNativeBinary, ze_module_dditable_t, pfnGetNativeBinary, none)                               \
    X(zeKernelCreate, ze_kernel_dditable_t, pfnCreate, makes)                                                \
    X(zeKernelDestroy, ze_kernel_dditable_t, pfnDestroy, frees)                                              \
    X(zeKernelSetGroupSize, ze_kernel_dditable_t, pfnSetGroupSize, none)                                     \
    X(zeKernelSetArgumentValue, ze_kernel_dditable_t, pfnSetArgumentValue, none)                             \
    X(zeKernelSetIndirectAccess, ze_kernel_dditable_t, pfnSetIndirectAccess, none)                           \
    X(zeEventPoolCreate, ze_event_pool_dditable_t, pfnCreate, makes)                                         \
    X(zeEventPoolDestroy, ze_event_pool_dditable_t, pfnDestroy, frees)                                       \
    X(zeEventCreate, ze_event_dditable_t, pfnCreate, makes)                                                  \
    X(zeEventDestroy, ze_event_dditable_t, pfnDestroy, frees)                                                \
    X(zeEventHostSynchronize, ze_event_dditable_t, pfnHostSynchronize, none)                                 \
    X(zeEventHostReset, ze_event_dditable_t, pfnHostReset, none)                                             \
    X(zeEventQueryKernelTimestamp, ze_event_dditable_t, pfnQueryKernelTimestamp, none)                       \
    X(zeCommandListCreateImmediate, ze_command_list_dditable_t, pfnCreateImmediate, makes)                   \
    X(zeCommandListDestroy, ze_command_list_dditable_t, pfnDestroy, frees)                                   \
    X(zeCommandListAppendLaunchKernel, ze_command_list_dditable_t, pfnAppendLaunchKernel, none)              \
    X(zeCommandListAppendMemoryCopy, ze_command_list_dditable_t, pfnAppendMemoryCopy, none)                  \
    X(zeCommandListAppendBarrier, ze_command_list_dditable_t, pfnAppendBarrier, none)

template <typename Table> void wrap(Table *table) {
#define WRAP(function, Of, member, Effect)                                                                   \
    if constexpr (std::is_same_v<Table, Of>)                                                                 \
        wrapped<Table, offsetof(Of, member), effect::Effect, decltype(Of::member)>::put(table->member,       \
                                                                                        #function);
    CALLS(WRAP)
#undef WRAP
}

// ---- modules, whose creation also makes a build log

ze_pfnModuleCreate_t create_module;
ze_pfnModuleBuildLogGetString_t get_log;
ze_pfnModuleBuildLogDestroy_t destroy_log;

struct refused_log {
    char text[512];
};
// The build logs of refused modules. Their addresses tell them from the target's logs.
refused_log logs[64];
unsigned log_count = 0;

bool is_ours(ze_module_build_log_handle_t log) {
    const auto *at = reinterpret_cast<const refused_log *>(log);
    return at >= logs && at < logs + 64;
}

refusal judge_module(const ze_module_desc_t &desc) {
    if (const ze_result_t verdict = judge("zeModuleCreate"); verdict != ZE_RESULT_SUCCESS)
        return {verdict, "refused"};
    return current.module ? current.module(desc) : refusal{ZE_RESULT_SUCCESS, ""};
}

ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
                          const ze_module_desc_t *desc, ze_module_handle_t *module,
                          ze_module_build_log_handle_t *log) {
    const refusal verdict = judge_module(*desc);
    ze_module_build_log_handle_t made = nullptr;
    ze_result_t result = verdict.result;
    if (result == ZE_RESULT_SUCCESS) {
        result = create_module(context, device, desc, module, log ? &made : nullptr);
        if (result == ZE_RESULT_SUCCESS)
            add("zeModuleCreate", *module);
    } else {
        refused_log &mine = logs[__atomic_fetch_add(&log_count, 1, __ATOMIC_RELAXED) % 64];
        std::snprintf(mine.text, sizeof mine.text, "%s", verdict.log);
        made = reinterpret_cast<ze_module_build_log_handle_t>(&mine);
    }
    if (log && made) {
        add("zeModuleCreate (log)", made);
        *log = made;
    }
    return result;
}

ze_result_t log_get_string(ze_module_build_log_handle_t log, size_t *size, char *text) {
    if (const ze_result_t verdict = judge("zeModuleBuildLogGetString"); verdict != ZE_RESULT_SUCCESS)
        return verdict;
    if (!is_ours(log))
        return get_log(log, size, text);
    const char *mine = reinterpret_cast<const refused_log *>(log)->text;
    if (text)
        std::memcpy(text, mine, *size);
    else
        *size = std::strlen(mine) + 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t log_destroy(ze_module_build_log_handle_t log) {
    const ze_result_t verdict = judge("zeModuleBuildLogDestroy");
    remove("zeModuleBuildLogDestroy", log);
    const ze_result_t result = is_ours(log) ? ZE_RESULT_SUCCESS : destroy_log(log);
    return verdict == ZE_RESULT_SUCCESS ? result : verdict;
}

// ---- the target's tables

void *target(const char *name) {
    static void *library = [] {
        const char *path = std::getenv("REFUSING_DRIVER_TARGET");
        void *opened = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        if (!opened)
            std::fprintf(stderr, "REFUSING_DRIVER_TARGET: %s\n", path ? dlerror() : "is not set");
        return opened;
    }();
    return library ? dlsym(library, name) : nullptr;
}

template <typename Table> ze_result_t forward(const char *name, ze_api_version_t version, Table *table) {
    auto get = reinterpret_cast<ze_result_t (*)(ze_api_version_t, Table *)>(target(name));
    return get ? get(version, table) : ZE_RESULT_ERROR_UNINITIALIZED;
}

} // namespace

EXPORT void set_judges(judges wanted) {
    current = wanted;
}

EXPORT int count_live() {
    const std::lock_guard hold(things_lock);
    return thing_count;
}

EXPORT void print_live() {
    const std::lock_guard hold(things_lock);
    for (int i = 0; i < thing_count; i++)
        std::fprintf(stderr, "  %s: %p\n", things[i].maker, things[i].handle);
}

EXPORT const char *zeCpuGetLastError() {
    auto get = reinterpret_cast<const char *(*)()>(target("zeCpuGetLastError"));
    return get ? get() : "the driver that is to be wrapped does not open";
}

#define TABLE(getter, Table)                                                                                 \
    EXPORT ze_result_t getter(ze_api_version_t version, Table *table) {                                      \
        const ze_result_t result = forward(#getter, version, table);                                         \
        if (result == ZE_RESULT_SUCCESS)                                                                     \
            wrap(table);                                                                                     \
        return result;                                                                                       \
    }
TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t)
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t)
#undef TABLE

EXPORT ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version,
                                                 ze_command_list_dditable_t *table) {
    const ze_result_t result = forward("zeGetCommandListProcAddrTable", version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    wrap(table);
    // zeCommandListHostSynchronize (1.6) follows the last function of 1.4.
    using host_synchronize = ze_result_t (*)(ze_command_list_handle_t, uint64_t);
    if (version >= ZE_MAKE_VERSION(1, 6))
        wrapped<ze_command_list_dditable_t, sizeof *table, effect::none, host_synchronize>::put(
            reinterpret_cast<host_synchronize &>((&table->pfnAppendImageCopyFromMemoryExt)[1]),
            "zeCommandListHostSynchronize");
    return result;
}

EXPORT ze_result_t zeGetModuleProcAddrTable(ze_api_version_t version, ze_module_dditable_t *table) {
    const ze_result_t result = forward("zeGetModuleProcAddrTable", version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    wrap(table);
    create_module = table->pfnCreate;
    table->pfnCreate = module_create;
    return result;
}

EXPORT ze_result_t zeGetModuleBuildLogProcAddrTable(ze_api_version_t version,
                                                    ze_module_build_log_dditable_t *table) {
    const ze_result_t result = forward("zeGetModuleBuildLogProcAddrTable", version, table);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    get_log = table->pfnGetString;
    destroy_log = table->pfnDestroy;
    table->pfnGetString = log_get_string;
    table->pfnDestroy = log_destroy;
    return result;
}

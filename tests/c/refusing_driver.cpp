// SPDX-License-Identifier: Apache-2.0
// REFUSING_DRIVER_TARGET names the driver to which everything else goes.
#include "refusing_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

judges current;
ze_pfnModuleCreate_t create_module;
ze_pfnModuleBuildLogGetString_t get_log;
ze_pfnModuleBuildLogDestroy_t destroy_log;
ze_pfnKernelCreate_t create_kernel;

struct refused_log {
    char text[512];
};
// Handles of logs of this driver, to tell them from the target's.
refused_log logs[64];
unsigned log_count = 0;

bool is_ours(ze_module_build_log_handle_t log) {
    const auto *at = reinterpret_cast<const refused_log *>(log);
    return at >= logs && at < logs + 64;
}

ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
                          const ze_module_desc_t *desc, ze_module_handle_t *module,
                          ze_module_build_log_handle_t *log) {
    const refusal verdict = current.module ? current.module(*desc) : refusal{ZE_RESULT_SUCCESS, ""};
    if (verdict.result == ZE_RESULT_SUCCESS)
        return create_module(context, device, desc, module, log);
    if (log) {
        refused_log &mine = logs[__atomic_fetch_add(&log_count, 1, __ATOMIC_RELAXED) % 64];
        std::snprintf(mine.text, sizeof mine.text, "%s", verdict.log);
        *log = reinterpret_cast<ze_module_build_log_handle_t>(&mine);
    }
    return verdict.result;
}

ze_result_t log_get_string(ze_module_build_log_handle_t log, size_t *size, char *text) {
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
    return is_ours(log) ? ZE_RESULT_SUCCESS : destroy_log(log);
}

ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *desc,
                          ze_kernel_handle_t *kernel) {
    const ze_result_t verdict = current.kernel ? current.kernel(*desc) : ZE_RESULT_SUCCESS;
    return verdict == ZE_RESULT_SUCCESS ? create_kernel(module, desc, kernel) : verdict;
}

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

EXPORT const char *zeCpuGetLastError() {
    auto get = reinterpret_cast<const char *(*)()>(target("zeCpuGetLastError"));
    return get ? get() : "the driver that is to be wrapped does not open";
}

#define FORWARD(getter, table_type)                                                                          \
    EXPORT ze_result_t getter(ze_api_version_t version, table_type *table) {                                 \
        return forward(#getter, version, table);                                                             \
    }
FORWARD(zeGetGlobalProcAddrTable, ze_global_dditable_t)
FORWARD(zeGetDriverProcAddrTable, ze_driver_dditable_t)
FORWARD(zeGetDeviceProcAddrTable, ze_device_dditable_t)
FORWARD(zeGetContextProcAddrTable, ze_context_dditable_t)
FORWARD(zeGetMemProcAddrTable, ze_mem_dditable_t)
FORWARD(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
FORWARD(zeGetEventProcAddrTable, ze_event_dditable_t)
FORWARD(zeGetCommandListProcAddrTable, ze_command_list_dditable_t)
#undef FORWARD

EXPORT ze_result_t zeGetModuleProcAddrTable(ze_api_version_t version, ze_module_dditable_t *table) {
    const ze_result_t result = forward("zeGetModuleProcAddrTable", version, table);
    create_module = table->pfnCreate;
    table->pfnCreate = module_create;
    return result;
}

EXPORT ze_result_t zeGetModuleBuildLogProcAddrTable(ze_api_version_t version,
                                                    ze_module_build_log_dditable_t *table) {
    const ze_result_t result = forward("zeGetModuleBuildLogProcAddrTable", version, table);
    get_log = table->pfnGetString;
    destroy_log = table->pfnDestroy;
    table->pfnGetString = log_get_string;
    table->pfnDestroy = log_destroy;
    return result;
}

EXPORT ze_result_t zeGetKernelProcAddrTable(ze_api_version_t version, ze_kernel_dditable_t *table) {
    const ze_result_t result = forward("zeGetKernelProcAddrTable", version, table);
    create_kernel = table->pfnCreate;
    table->pfnCreate = kernel_create;
    return result;
}

// SPDX-License-Identifier: Apache-2.0
// The table of Level Zero functions that zemm calls. It is filled by the loader or by a driver's
// own DDI tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <level_zero/ze_api.h>

#include "zemm/zemm_types.h"

namespace zemm::ze {

// The functions that every driver must have: the name in ze_api.h, the DDI table and its member.
#define ZEMM_ZE_FUNCTIONS(X)                                                                                 \
    X(zeInit, global, pfnInit)                                                                               \
    X(zeDriverGet, driver, pfnGet)                                                                           \
    X(zeDriverGetApiVersion, driver, pfnGetApiVersion)                                                       \
    X(zeDriverGetProperties, driver, pfnGetProperties)                                                       \
    X(zeDriverGetExtensionProperties, driver, pfnGetExtensionProperties)                                     \
    X(zeDriverGetExtensionFunctionAddress, driver, pfnGetExtensionFunctionAddress)                           \
    X(zeDeviceGet, device, pfnGet)                                                                           \
    X(zeDeviceGetProperties, device, pfnGetProperties)                                                       \
    X(zeDeviceGetComputeProperties, device, pfnGetComputeProperties)                                         \
    X(zeDeviceGetModuleProperties, device, pfnGetModuleProperties)                                           \
    X(zeDeviceGetCacheProperties, device, pfnGetCacheProperties)                                             \
    X(zeDeviceGetMemoryProperties, device, pfnGetMemoryProperties)                                           \
    X(zeDeviceGetMemoryAccessProperties, device, pfnGetMemoryAccessProperties)                               \
    X(zeDeviceGetCommandQueueGroupProperties, device, pfnGetCommandQueueGroupProperties)                     \
    X(zeContextCreate, context, pfnCreate)                                                                   \
    X(zeContextDestroy, context, pfnDestroy)                                                                 \
    X(zeMemAllocHost, mem, pfnAllocHost)                                                                     \
    X(zeMemAllocDevice, mem, pfnAllocDevice)                                                                 \
    X(zeMemFree, mem, pfnFree)                                                                               \
    X(zeMemGetAllocProperties, mem, pfnGetAllocProperties)                                                   \
    X(zeMemGetAddressRange, mem, pfnGetAddressRange)                                                         \
    X(zeModuleCreate, module_, pfnCreate)                                                                    \
    X(zeModuleDestroy, module_, pfnDestroy)                                                                  \
    X(zeModuleGetNativeBinary, module_, pfnGetNativeBinary)                                                  \
    X(zeModuleBuildLogGetString, log, pfnGetString)                                                          \
    X(zeModuleBuildLogDestroy, log, pfnDestroy)                                                              \
    X(zeKernelCreate, kernel, pfnCreate)                                                                     \
    X(zeKernelDestroy, kernel, pfnDestroy)                                                                   \
    X(zeKernelSetGroupSize, kernel, pfnSetGroupSize)                                                         \
    X(zeKernelSetArgumentValue, kernel, pfnSetArgumentValue)                                                 \
    X(zeKernelSetIndirectAccess, kernel, pfnSetIndirectAccess)                                               \
    X(zeCommandListCreateImmediate, list, pfnCreateImmediate)                                                \
    X(zeCommandListDestroy, list, pfnDestroy)                                                                \
    X(zeCommandListAppendLaunchKernel, list, pfnAppendLaunchKernel)                                          \
    X(zeCommandListAppendMemoryCopy, list, pfnAppendMemoryCopy)                                              \
    X(zeCommandListAppendMemoryPrefetch, list, pfnAppendMemoryPrefetch)                                      \
    X(zeCommandListAppendBarrier, list, pfnAppendBarrier)                                                    \
    X(zeEventPoolCreate, pool, pfnCreate)                                                                    \
    X(zeEventPoolDestroy, pool, pfnDestroy)                                                                  \
    X(zeEventCreate, event, pfnCreate)                                                                       \
    X(zeEventDestroy, event, pfnDestroy)                                                                     \
    X(zeEventHostSynchronize, event, pfnHostSynchronize)                                                     \
    X(zeEventHostReset, event, pfnHostReset)                                                                 \
    X(zeEventQueryKernelTimestamp, event, pfnQueryKernelTimestamp)

struct api {
#define ZEMM_ZE_MEMBER(name, table, member) decltype(&::name) name = nullptr;
    ZEMM_ZE_FUNCTIONS(ZEMM_ZE_MEMBER)
    // Level Zero 1.6. ze_api.h may be older, so the type is written out. nullptr if the loader or
    // driver lacks it.
    ze_result_t (*zeCommandListHostSynchronize)(ze_command_list_handle_t list, uint64_t timeout) = nullptr;
#undef ZEMM_ZE_MEMBER
};

// An empty structure that says its type.
template <class T> T structure(ze_structure_type_t type) {
    T empty = {};
    empty.stype = type;
    return empty;
}

// Throws if the result is not ZE_RESULT_SUCCESS: out_of_memory for the two out-of-memory results,
// else runtime_error. The sentence has the names of the call and of the result.
void check(ze_result_t result, const char *call);
const char *result_text(ze_result_t result); // "ZE_RESULT_ERROR_DEVICE_LOST"
bool is_out_of_memory(ze_result_t result);

// The reason why Level Zero functions or devices are not available.
struct absence {
    // invalid_arguments: something is not installed; the process does not look for it again.
    // out_of_memory, runtime_error: a call failed, and may succeed next time: the next call tries
    // again.
    zemm_status_t status = zemm_invalid_arguments;
    std::string sentence; // what is missing and which package contains it, or what failed

    bool lasts() const { return status == zemm_invalid_arguments; }
};

// The functions of libze_loader.so.1, which is opened and initialised (zeInit) at first use.
// nullptr, with the reason in why, if there is no loader or the loader finds no driver.
const api *loader_api(absence &why);
// The functions of the libze_cpu.so beside this library, read from its DDI tables.
const api *cpu_driver_api(absence &why);

} // namespace zemm::ze

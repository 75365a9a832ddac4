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

// The functions that every driver must have, by their names in ze_api.h.
#define ZEMM_ZE_FUNCTIONS(X)                                                                                 \
    X(zeInit)                                                                                                \
    X(zeDriverGet)                                                                                           \
    X(zeDriverGetApiVersion)                                                                                 \
    X(zeDriverGetProperties)                                                                                 \
    X(zeDriverGetExtensionProperties)                                                                        \
    X(zeDeviceGet)                                                                                           \
    X(zeDeviceGetProperties)                                                                                 \
    X(zeDeviceGetComputeProperties)                                                                          \
    X(zeDeviceGetModuleProperties)                                                                           \
    X(zeDeviceGetCacheProperties)                                                                            \
    X(zeDeviceGetMemoryProperties)                                                                           \
    X(zeDeviceGetMemoryAccessProperties)                                                                     \
    X(zeDeviceGetCommandQueueGroupProperties)                                                                \
    X(zeContextCreate)                                                                                       \
    X(zeContextDestroy)                                                                                      \
    X(zeMemAllocHost)                                                                                        \
    X(zeMemAllocDevice)                                                                                      \
    X(zeMemFree)                                                                                             \
    X(zeMemGetAllocProperties)                                                                               \
    X(zeMemGetAddressRange)                                                                                  \
    X(zeModuleCreate)                                                                                        \
    X(zeModuleDestroy)                                                                                       \
    X(zeModuleGetNativeBinary)                                                                               \
    X(zeModuleBuildLogGetString)                                                                             \
    X(zeModuleBuildLogDestroy)                                                                               \
    X(zeKernelCreate)                                                                                        \
    X(zeKernelDestroy)                                                                                       \
    X(zeKernelSetGroupSize)                                                                                  \
    X(zeKernelSetArgumentValue)                                                                              \
    X(zeKernelSetIndirectAccess)                                                                             \
    X(zeCommandListCreateImmediate)                                                                          \
    X(zeCommandListDestroy)                                                                                  \
    X(zeCommandListAppendLaunchKernel)                                                                       \
    X(zeCommandListAppendMemoryCopy)                                                                         \
    X(zeCommandListAppendBarrier)                                                                            \
    X(zeEventPoolCreate)                                                                                     \
    X(zeEventPoolDestroy)                                                                                    \
    X(zeEventCreate)                                                                                         \
    X(zeEventDestroy)                                                                                        \
    X(zeEventHostSynchronize)                                                                                \
    X(zeEventHostReset)                                                                                      \
    X(zeEventQueryKernelTimestamp)

struct api {
#define ZEMM_ZE_MEMBER(name) decltype(&::name) name = nullptr;
    ZEMM_ZE_FUNCTIONS(ZEMM_ZE_MEMBER)
    // Level Zero 1.6. ze_api.h may be older, so the type is written out. nullptr if the loader or
    // driver lacks it.
    ze_result_t (*zeCommandListHostSynchronize)(ze_command_list_handle_t list, uint64_t timeout) = nullptr;
#undef ZEMM_ZE_MEMBER
};

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
// The same of the libze_cpu.so beside this library, read from its DDI tables.
const api *cpu_driver_api(absence &why);

} // namespace zemm::ze

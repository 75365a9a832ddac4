// SPDX-License-Identifier: Apache-2.0
// The Level Zero functions that zemm calls, from one of two places: the loader, or a driver's own DDI tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <level_zero/ze_api.h>

#include "zemm/zemm_types.h"

namespace zemm::ze {

// Functions that every driver must have (name as in ze_api.h).
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
    // From Level Zero 1.6 on, which the header may not know: nullptr if the loader or driver has it not.
    ze_result_t (*zeCommandListHostSynchronize)(ze_command_list_handle_t list, uint64_t timeout) = nullptr;
#undef ZEMM_ZE_MEMBER
};

// Throws runtime_error with the function's name and the code's name unless the result is ZE_RESULT_SUCCESS
// (out_of_memory for the memory codes).
void check(ze_result_t result, const char *call);
const char *result_text(ze_result_t result); // "ZE_RESULT_ERROR_DEVICE_LOST"
bool is_out_of_memory(ze_result_t result);

// Why there are no functions, or no devices.
struct absence {
    // invalid_arguments: something is missing, and stays so until the process ends. Else something failed
    // that may pass (out_of_memory, runtime_error): the next call tries again.
    zemm_status_t status = zemm_invalid_arguments;
    std::string sentence; // says what is missing and which package has it, or what failed

    bool lasts() const { return status == zemm_invalid_arguments; }
};

// The loader's functions, opened at first use (libze_loader.so.1, zeInit done); nullptr and why if there is
// none or it has no driver.
const api *loader_api(absence &why);
// Those of the libze_cpu.so beside this library, through its DDI tables; nullptr and why likewise.
const api *cpu_driver_api(absence &why);

} // namespace zemm::ze

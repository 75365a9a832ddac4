// SPDX-License-Identifier: Apache-2.0
//
// The Level Zero functions that this driver implements, one row each; newer_api.h declares those
// that older headers lack. They are in the namespace ze_cpu under their own names, and programs
// reach them only through the tables of ddi_*.cpp. So the functions of a Level Zero loader in the
// same process can neither replace them nor be replaced by them.
#pragma once

#include <level_zero/ze_api.h>

#include "newer_api.h"

#define ZE_CPU_ENTRY_POINTS(X)                                                                               \
    X(zeCommandListAppendImageCopy)                                                                          \
    X(zeCommandListAppendImageCopyRegion)                                                                    \
    X(zeCommandListAppendImageCopyToMemory)                                                                  \
    X(zeCommandListAppendImageCopyFromMemory)                                                                \
    X(zeCommandListAppendImageCopyToMemoryExt)                                                               \
    X(zeCommandListAppendImageCopyFromMemoryExt)                                                             \
    X(zeCommandListAppendLaunchKernel)                                                                       \
    X(zeCommandListAppendLaunchCooperativeKernel)                                                            \
    X(zeCommandListAppendLaunchKernelIndirect)                                                               \
    X(zeCommandListAppendLaunchMultipleKernelsIndirect)                                                      \
    X(zeCommandListAppendMemoryCopy)                                                                         \
    X(zeCommandListAppendMemoryCopyFromContext)                                                              \
    X(zeCommandListAppendMemoryFill)                                                                         \
    X(zeCommandListAppendMemoryCopyRegion)                                                                   \
    X(zeCommandListAppendMemoryPrefetch)                                                                     \
    X(zeCommandListAppendMemAdvise)                                                                          \
    X(zeCommandListAppendBarrier)                                                                            \
    X(zeCommandListAppendMemoryRangesBarrier)                                                                \
    X(zeCommandListAppendSignalEvent)                                                                        \
    X(zeCommandListAppendWaitOnEvents)                                                                       \
    X(zeCommandListAppendEventReset)                                                                         \
    X(zeCommandListAppendWriteGlobalTimestamp)                                                               \
    X(zeCommandListAppendQueryKernelTimestamps)                                                              \
    X(zeCommandListCreate)                                                                                   \
    X(zeCommandListCreateImmediate)                                                                          \
    X(zeCommandListDestroy)                                                                                  \
    X(zeCommandListClose)                                                                                    \
    X(zeCommandListReset)                                                                                    \
    X(zeCommandQueueCreate)                                                                                  \
    X(zeCommandQueueDestroy)                                                                                 \
    X(zeCommandQueueExecuteCommandLists)                                                                     \
    X(zeCommandQueueSynchronize)                                                                             \
    X(zeContextCreate)                                                                                       \
    X(zeContextCreateEx)                                                                                     \
    X(zeContextDestroy)                                                                                      \
    X(zeContextGetStatus)                                                                                    \
    X(zeContextSystemBarrier)                                                                                \
    X(zeContextMakeMemoryResident)                                                                           \
    X(zeContextEvictMemory)                                                                                  \
    X(zeContextMakeImageResident)                                                                            \
    X(zeContextEvictImage)                                                                                   \
    X(zeDeviceGet)                                                                                           \
    X(zeDeviceGetSubDevices)                                                                                 \
    X(zeDeviceGetProperties)                                                                                 \
    X(zeDeviceGetComputeProperties)                                                                          \
    X(zeDeviceGetModuleProperties)                                                                           \
    X(zeDeviceGetCommandQueueGroupProperties)                                                                \
    X(zeDeviceGetMemoryProperties)                                                                           \
    X(zeDeviceGetMemoryAccessProperties)                                                                     \
    X(zeDeviceGetCacheProperties)                                                                            \
    X(zeDeviceGetImageProperties)                                                                            \
    X(zeDeviceGetExternalMemoryProperties)                                                                   \
    X(zeDeviceGetP2PProperties)                                                                              \
    X(zeDeviceCanAccessPeer)                                                                                 \
    X(zeDeviceGetStatus)                                                                                     \
    X(zeDeviceGetGlobalTimestamps)                                                                           \
    X(zeInit)                                                                                                \
    X(zeDriverGet)                                                                                           \
    X(zeDriverGetApiVersion)                                                                                 \
    X(zeDriverGetProperties)                                                                                 \
    X(zeDriverGetIpcProperties)                                                                              \
    X(zeDriverGetExtensionProperties)                                                                        \
    X(zeDriverGetExtensionFunctionAddress)                                                                   \
    X(zeEventPoolCreate)                                                                                     \
    X(zeEventPoolDestroy)                                                                                    \
    X(zeEventPoolGetIpcHandle)                                                                               \
    X(zeEventPoolOpenIpcHandle)                                                                              \
    X(zeEventPoolCloseIpcHandle)                                                                             \
    X(zeEventCreate)                                                                                         \
    X(zeEventDestroy)                                                                                        \
    X(zeEventHostSignal)                                                                                     \
    X(zeEventHostSynchronize)                                                                                \
    X(zeEventQueryStatus)                                                                                    \
    X(zeEventHostReset)                                                                                      \
    X(zeEventQueryKernelTimestamp)                                                                           \
    X(zeEventQueryTimestampsExp)                                                                             \
    X(zeFenceCreate)                                                                                         \
    X(zeFenceDestroy)                                                                                        \
    X(zeFenceHostSynchronize)                                                                                \
    X(zeFenceQueryStatus)                                                                                    \
    X(zeFenceReset)                                                                                          \
    X(zeImageGetProperties)                                                                                  \
    X(zeImageCreate)                                                                                         \
    X(zeImageDestroy)                                                                                        \
    X(zeKernelCreate)                                                                                        \
    X(zeKernelDestroy)                                                                                       \
    X(zeKernelSetArgumentValue)                                                                              \
    X(zeKernelSetGroupSize)                                                                                  \
    X(zeKernelSuggestGroupSize)                                                                              \
    X(zeKernelSuggestMaxCooperativeGroupCount)                                                               \
    X(zeKernelSetIndirectAccess)                                                                             \
    X(zeKernelGetIndirectAccess)                                                                             \
    X(zeKernelGetSourceAttributes)                                                                           \
    X(zeKernelSetCacheConfig)                                                                                \
    X(zeKernelGetProperties)                                                                                 \
    X(zeKernelGetName)                                                                                       \
    X(zeKernelSchedulingHintExp)                                                                             \
    X(zeKernelSetGlobalOffsetExp)                                                                            \
    X(zeMemAllocShared)                                                                                      \
    X(zeMemAllocDevice)                                                                                      \
    X(zeMemAllocHost)                                                                                        \
    X(zeMemFree)                                                                                             \
    X(zeMemFreeExt)                                                                                          \
    X(zeMemGetAllocProperties)                                                                               \
    X(zeMemGetAddressRange)                                                                                  \
    X(zeMemGetIpcHandle)                                                                                     \
    X(zeMemOpenIpcHandle)                                                                                    \
    X(zeMemCloseIpcHandle)                                                                                   \
    X(zeModuleCreate)                                                                                        \
    X(zeModuleDestroy)                                                                                       \
    X(zeModuleDynamicLink)                                                                                   \
    X(zeModuleGetNativeBinary)                                                                               \
    X(zeModuleGetGlobalPointer)                                                                              \
    X(zeModuleGetKernelNames)                                                                                \
    X(zeModuleGetProperties)                                                                                 \
    X(zeModuleGetFunctionPointer)                                                                            \
    X(zeModuleInspectLinkageExt)                                                                             \
    X(zeModuleBuildLogDestroy)                                                                               \
    X(zeModuleBuildLogGetString)                                                                             \
    X(zePhysicalMemCreate)                                                                                   \
    X(zePhysicalMemDestroy)                                                                                  \
    X(zeSamplerCreate)                                                                                       \
    X(zeSamplerDestroy)                                                                                      \
    X(zeVirtualMemReserve)                                                                                   \
    X(zeVirtualMemFree)                                                                                      \
    X(zeVirtualMemQueryPageSize)                                                                             \
    X(zeVirtualMemMap)                                                                                       \
    X(zeVirtualMemUnmap)                                                                                     \
    X(zeVirtualMemSetAccessAttribute)                                                                        \
    X(zeVirtualMemGetAccessAttribute)

namespace ze_cpu {

#define ZE_CPU_DECLARE(name) decltype(::name) name;
ZE_CPU_ENTRY_POINTS(ZE_CPU_DECLARE)
#undef ZE_CPU_DECLARE

} // namespace ze_cpu

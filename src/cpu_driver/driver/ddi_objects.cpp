// SPDX-License-Identifier: Apache-2.0
//
// The tables of drivers, devices, contexts, memory, modules and kernels.
#include "ddi.h"

ZE_CPU_TABLE(zeGetRTASBuilderProcAddrTable, //
             LACKS(13, zeRTASBuilderCreateExt), LACKS(13, zeRTASBuilderGetBuildPropertiesExt),
             LACKS(13, zeRTASBuilderBuildExt), LACKS(13, zeRTASBuilderCommandListAppendCopyExt),
             LACKS(13, zeRTASBuilderDestroyExt))

ZE_CPU_TABLE(zeGetRTASBuilderExpProcAddrTable, //
             LACKS(7, zeRTASBuilderCreateExp), LACKS(7, zeRTASBuilderGetBuildPropertiesExp),
             LACKS(7, zeRTASBuilderBuildExp), LACKS(7, zeRTASBuilderDestroyExp))

ZE_CPU_TABLE(zeGetRTASParallelOperationProcAddrTable, //
             LACKS(13, zeRTASParallelOperationCreateExt), LACKS(13, zeRTASParallelOperationGetPropertiesExt),
             LACKS(13, zeRTASParallelOperationJoinExt), LACKS(13, zeRTASParallelOperationDestroyExt))

ZE_CPU_TABLE(zeGetRTASParallelOperationExpProcAddrTable, //
             LACKS(7, zeRTASParallelOperationCreateExp), LACKS(7, zeRTASParallelOperationGetPropertiesExp),
             LACKS(7, zeRTASParallelOperationJoinExp), LACKS(7, zeRTASParallelOperationDestroyExp))

ZE_CPU_TABLE(zeGetGlobalProcAddrTable, //
             HAS(0, zeInit), HAS(10, zeInitDrivers))

ZE_CPU_TABLE(zeGetDriverProcAddrTable, //
             HAS(0, zeDriverGet), HAS(0, zeDriverGetApiVersion), HAS(0, zeDriverGetProperties),
             HAS(0, zeDriverGetIpcProperties), HAS(0, zeDriverGetExtensionProperties),
             HAS(1, zeDriverGetExtensionFunctionAddress), HAS(6, zeDriverGetLastErrorDescription),
             LACKS(13, zeDriverRTASFormatCompatibilityCheckExt), HAS(14, zeDriverGetDefaultContext))

ZE_CPU_TABLE(zeGetDriverExpProcAddrTable, //
             LACKS(7, zeDriverRTASFormatCompatibilityCheckExp))

ZE_CPU_TABLE(zeGetDeviceProcAddrTable, //
             HAS(0, zeDeviceGet), HAS(0, zeDeviceGetSubDevices), HAS(0, zeDeviceGetProperties),
             HAS(0, zeDeviceGetComputeProperties), HAS(0, zeDeviceGetModuleProperties),
             HAS(0, zeDeviceGetCommandQueueGroupProperties), HAS(0, zeDeviceGetMemoryProperties),
             HAS(0, zeDeviceGetMemoryAccessProperties), HAS(0, zeDeviceGetCacheProperties),
             HAS(0, zeDeviceGetImageProperties), HAS(0, zeDeviceGetExternalMemoryProperties),
             HAS(0, zeDeviceGetP2PProperties), HAS(0, zeDeviceCanAccessPeer), HAS(0, zeDeviceGetStatus),
             HAS(1, zeDeviceGetGlobalTimestamps), LACKS(2, zeDeviceReserveCacheExt),
             LACKS(2, zeDeviceSetCacheAdviceExt), LACKS(3, zeDevicePciGetPropertiesExt),
             HAS(7, zeDeviceGetRootDevice), LACKS(12, zeDeviceImportExternalSemaphoreExt),
             LACKS(12, zeDeviceReleaseExternalSemaphoreExt), HAS(13, zeDeviceGetVectorWidthPropertiesExt),
             HAS(14, zeDeviceSynchronize), LACKS(15, zeDeviceGetAggregatedCopyOffloadIncrementValue),
             LACKS(16, zeDeviceGetRuntimeRequirements), LACKS(16, zeDeviceGetRuntimeRequirementsKey),
             LACKS(16, zeDeviceValidateRuntimeRequirements), LACKS(17, zeDeviceGetCounterBasedEventMaxValue))

ZE_CPU_TABLE(zeGetDeviceExpProcAddrTable, //
             LACKS(4, zeDeviceGetFabricVertexExp))

ZE_CPU_TABLE(zeGetContextProcAddrTable, //
             HAS(0, zeContextCreate), HAS(0, zeContextDestroy), HAS(0, zeContextGetStatus),
             HAS(0, zeContextSystemBarrier), HAS(0, zeContextMakeMemoryResident),
             HAS(0, zeContextEvictMemory), HAS(0, zeContextMakeImageResident), HAS(0, zeContextEvictImage),
             HAS(1, zeContextCreateEx))

ZE_CPU_TABLE(zeGetImageProcAddrTable, //
             HAS(0, zeImageGetProperties), HAS(0, zeImageCreate), HAS(0, zeImageDestroy),
             LACKS(3, zeImageGetAllocPropertiesExt), LACKS(5, zeImageViewCreateExt))

ZE_CPU_TABLE(zeGetImageExpProcAddrTable, //
             LACKS(2, zeImageGetMemoryPropertiesExp), LACKS(2, zeImageViewCreateExp),
             LACKS(9, zeImageGetDeviceOffsetExp))

ZE_CPU_TABLE(zeGetMemProcAddrTable, //
             HAS(0, zeMemAllocShared), HAS(0, zeMemAllocDevice), HAS(0, zeMemAllocHost), HAS(0, zeMemFree),
             HAS(0, zeMemGetAllocProperties), HAS(0, zeMemGetAddressRange), HAS(0, zeMemGetIpcHandle),
             HAS(0, zeMemOpenIpcHandle), HAS(0, zeMemCloseIpcHandle), HAS(3, zeMemFreeExt),
             HAS(6, zeMemPutIpcHandle), LACKS(9, zeMemGetPitchFor2dImage),
             HAS(15, zeMemGetIpcHandleWithProperties))

ZE_CPU_TABLE(zeGetMemExpProcAddrTable, //
             HAS(6, zeMemGetIpcHandleFromFileDescriptorExp), HAS(6, zeMemGetFileDescriptorFromIpcHandleExp),
             LACKS(7, zeMemSetAtomicAccessAttributeExp), LACKS(7, zeMemGetAtomicAccessAttributeExp))

ZE_CPU_TABLE(zeGetModuleProcAddrTable, //
             HAS(0, zeModuleCreate), HAS(0, zeModuleDestroy), HAS(0, zeModuleDynamicLink),
             HAS(0, zeModuleGetNativeBinary), HAS(0, zeModuleGetGlobalPointer),
             HAS(0, zeModuleGetKernelNames), HAS(0, zeModuleGetProperties),
             HAS(0, zeModuleGetFunctionPointer), HAS(3, zeModuleInspectLinkageExt))

ZE_CPU_TABLE(zeGetModuleBuildLogProcAddrTable, //
             HAS(0, zeModuleBuildLogDestroy), HAS(0, zeModuleBuildLogGetString))

ZE_CPU_TABLE(zeGetKernelProcAddrTable, //
             HAS(0, zeKernelCreate), HAS(0, zeKernelDestroy), HAS(0, zeKernelSetCacheConfig),
             HAS(0, zeKernelSetGroupSize), HAS(0, zeKernelSuggestGroupSize),
             HAS(0, zeKernelSuggestMaxCooperativeGroupCount), HAS(0, zeKernelSetArgumentValue),
             HAS(0, zeKernelSetIndirectAccess), HAS(0, zeKernelGetIndirectAccess),
             HAS(0, zeKernelGetSourceAttributes), HAS(0, zeKernelGetProperties), HAS(0, zeKernelGetName))

ZE_CPU_TABLE(zeGetKernelExpProcAddrTable, //
             HAS(1, zeKernelSetGlobalOffsetExp), HAS(2, zeKernelSchedulingHintExp),
             LACKS(11, zeKernelGetBinaryExp), HAS(14, zeKernelGetAllocationPropertiesExp))

ZE_CPU_TABLE(zeGetSamplerProcAddrTable, //
             HAS(0, zeSamplerCreate), HAS(0, zeSamplerDestroy))

ZE_CPU_TABLE(zeGetPhysicalMemProcAddrTable, //
             HAS(0, zePhysicalMemCreate), HAS(0, zePhysicalMemDestroy), LACKS(15, zePhysicalMemGetProperties))

ZE_CPU_TABLE(zeGetVirtualMemProcAddrTable, //
             HAS(0, zeVirtualMemReserve), HAS(0, zeVirtualMemFree), HAS(0, zeVirtualMemQueryPageSize),
             HAS(0, zeVirtualMemMap), HAS(0, zeVirtualMemUnmap), HAS(0, zeVirtualMemSetAccessAttribute),
             HAS(0, zeVirtualMemGetAccessAttribute))

ZE_CPU_TABLE(zeGetFabricVertexExpProcAddrTable, //
             LACKS(4, zeFabricVertexGetExp), LACKS(4, zeFabricVertexGetSubVerticesExp),
             LACKS(4, zeFabricVertexGetPropertiesExp), LACKS(4, zeFabricVertexGetDeviceExp))

ZE_CPU_TABLE(zeGetFabricEdgeExpProcAddrTable, //
             LACKS(4, zeFabricEdgeGetExp), LACKS(4, zeFabricEdgeGetVerticesExp),
             LACKS(4, zeFabricEdgeGetPropertiesExp))

ZE_CPU_TABLE(zerGetGlobalProcAddrTable, //
             HAS(14, zerGetLastErrorDescription), HAS(14, zerTranslateDeviceHandleToIdentifier),
             HAS(14, zerTranslateIdentifierToDeviceHandle), HAS(14, zerGetDefaultContext))

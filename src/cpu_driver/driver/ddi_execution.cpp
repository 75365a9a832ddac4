// SPDX-License-Identifier: Apache-2.0
//
// The tables of lists, queues, events and fences.
#include "ddi.h"

ZE_CPU_TABLE(zeGetCommandQueueProcAddrTable, //
             HAS(0, zeCommandQueueCreate), HAS(0, zeCommandQueueDestroy),
             HAS(0, zeCommandQueueExecuteCommandLists), HAS(0, zeCommandQueueSynchronize),
             HAS(9, zeCommandQueueGetOrdinal), HAS(9, zeCommandQueueGetIndex),
             HAS(17, zeCommandQueueGetFlags), HAS(17, zeCommandQueueGetMode),
             HAS(17, zeCommandQueueGetPriority))

ZE_CPU_TABLE(zeGetCommandListProcAddrTable, //
             HAS(0, zeCommandListCreate), HAS(0, zeCommandListCreateImmediate), HAS(0, zeCommandListDestroy),
             HAS(0, zeCommandListClose), HAS(0, zeCommandListReset),
             HAS(0, zeCommandListAppendWriteGlobalTimestamp), HAS(0, zeCommandListAppendBarrier),
             HAS(0, zeCommandListAppendMemoryRangesBarrier), HAS(0, zeCommandListAppendMemoryCopy),
             HAS(0, zeCommandListAppendMemoryFill), HAS(0, zeCommandListAppendMemoryCopyRegion),
             HAS(0, zeCommandListAppendMemoryCopyFromContext), HAS(0, zeCommandListAppendImageCopy),
             HAS(0, zeCommandListAppendImageCopyRegion), HAS(0, zeCommandListAppendImageCopyToMemory),
             HAS(0, zeCommandListAppendImageCopyFromMemory), HAS(0, zeCommandListAppendMemoryPrefetch),
             HAS(0, zeCommandListAppendMemAdvise), HAS(0, zeCommandListAppendSignalEvent),
             HAS(0, zeCommandListAppendWaitOnEvents), HAS(0, zeCommandListAppendEventReset),
             HAS(0, zeCommandListAppendQueryKernelTimestamps), HAS(0, zeCommandListAppendLaunchKernel),
             HAS(0, zeCommandListAppendLaunchCooperativeKernel),
             HAS(0, zeCommandListAppendLaunchKernelIndirect),
             HAS(0, zeCommandListAppendLaunchMultipleKernelsIndirect),
             HAS(3, zeCommandListAppendImageCopyToMemoryExt),
             HAS(3, zeCommandListAppendImageCopyFromMemoryExt), HAS(6, zeCommandListHostSynchronize),
             HAS(9, zeCommandListGetDeviceHandle), HAS(9, zeCommandListGetContextHandle),
             HAS(9, zeCommandListGetOrdinal), HAS(9, zeCommandListImmediateGetIndex),
             HAS(9, zeCommandListIsImmediate), LACKS(12, zeCommandListAppendSignalExternalSemaphoreExt),
             LACKS(12, zeCommandListAppendWaitExternalSemaphoreExt),
             HAS(14, zeCommandListAppendLaunchKernelWithParameters),
             HAS(14, zeCommandListAppendLaunchKernelWithArguments),
             HAS(16, zeCommandListAppendMemoryCopyWithParameters),
             HAS(16, zeCommandListAppendMemoryFillWithParameters),
             HAS(16, zeCommandListImmediateAppendCommandListsWithParameters), HAS(17, zeCommandListGetFlags),
             HAS(17, zeCommandListImmediateGetFlags), HAS(17, zeCommandListImmediateGetMode),
             HAS(17, zeCommandListImmediateGetPriority), LACKS(17, zeCommandListBeginGraphCaptureExt),
             LACKS(17, zeCommandListBeginCaptureIntoGraphExt),
             LACKS(17, zeCommandListIsGraphCaptureEnabledExt), LACKS(17, zeCommandListEndGraphCaptureExt),
             LACKS(17, zeCommandListGetGraphExt), LACKS(17, zeCommandListAppendGraphExt),
             HAS(17, zeCommandListAppendHostFunction))

ZE_CPU_TABLE(zeGetCommandListExpProcAddrTable, //
             LACKS(9, zeCommandListCreateCloneExp), HAS(9, zeCommandListImmediateAppendCommandListsExp),
             LACKS(9, zeCommandListGetNextCommandIdExp), LACKS(9, zeCommandListUpdateMutableCommandsExp),
             LACKS(9, zeCommandListUpdateMutableCommandSignalEventExp),
             LACKS(9, zeCommandListUpdateMutableCommandWaitEventsExp),
             LACKS(10, zeCommandListGetNextCommandIdWithKernelsExp),
             LACKS(10, zeCommandListUpdateMutableCommandKernelsExp), HAS(17, zeCommandListIsMutableExp))

ZE_CPU_TABLE(zeGetFenceProcAddrTable, //
             HAS(0, zeFenceCreate), HAS(0, zeFenceDestroy), HAS(0, zeFenceHostSynchronize),
             HAS(0, zeFenceQueryStatus), HAS(0, zeFenceReset))

ZE_CPU_TABLE(zeGetEventPoolProcAddrTable, //
             HAS(0, zeEventPoolCreate), HAS(0, zeEventPoolDestroy), HAS(0, zeEventPoolGetIpcHandle),
             HAS(0, zeEventPoolOpenIpcHandle), HAS(0, zeEventPoolCloseIpcHandle),
             HAS(6, zeEventPoolPutIpcHandle), HAS(9, zeEventPoolGetContextHandle),
             HAS(9, zeEventPoolGetFlags))

ZE_CPU_TABLE(zeGetEventProcAddrTable, //
             HAS(0, zeEventCreate), HAS(0, zeEventDestroy), HAS(0, zeEventHostSignal),
             HAS(0, zeEventHostSynchronize), HAS(0, zeEventQueryStatus), HAS(0, zeEventHostReset),
             HAS(0, zeEventQueryKernelTimestamp), HAS(6, zeEventQueryKernelTimestampsExt),
             HAS(9, zeEventGetEventPool), HAS(9, zeEventGetSignalScope), HAS(9, zeEventGetWaitScope),
             HAS(15, zeEventCounterBasedCreate), LACKS(15, zeEventCounterBasedGetIpcHandle),
             LACKS(15, zeEventCounterBasedOpenIpcHandle), LACKS(15, zeEventCounterBasedCloseIpcHandle),
             LACKS(15, zeEventCounterBasedGetDeviceAddress), HAS(17, zeEventGetCounterBasedFlags))

ZE_CPU_TABLE(zeGetEventExpProcAddrTable, //
             HAS(2, zeEventQueryTimestampsExp))

ZE_CPU_TABLE(zeGetGraphProcAddrTable, //
             LACKS(17, zeGraphCreateExt), LACKS(17, zeGraphGetPrimaryCommandListExt),
             LACKS(17, zeGraphSetDestructionCallbackExt), LACKS(17, zeGraphInstantiateExt),
             LACKS(17, zeGraphIsEmptyExt), LACKS(17, zeGraphDumpContentsExt), LACKS(17, zeGraphDestroyExt))

ZE_CPU_TABLE(zeGetExecutableGraphProcAddrTable, //
             LACKS(17, zeExecutableGraphGetSourceGraphExt), LACKS(17, zeExecutableGraphDestroyExt))

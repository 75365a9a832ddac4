// SPDX-License-Identifier: Apache-2.0
//
// The appends of Level Zero 1.16 and 1.17. They take a chain of extension structures (pNext). This
// driver knows none, so pNext must be null.
#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"

namespace ze_cpu {
ze_result_t zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t hCommandList, void *dstptr,
                                                        const void *srcptr, size_t size, const void *pNext,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents) {
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return ze_cpu::zeCommandListAppendMemoryCopy(hCommandList, dstptr, srcptr, size, hSignalEvent,
                                                 numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t hCommandList, void *ptr,
                                                        const void *pattern, size_t pattern_size, size_t size,
                                                        const void *pNext, ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents) {
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return ze_cpu::zeCommandListAppendMemoryFill(hCommandList, ptr, pattern, pattern_size, size, hSignalEvent,
                                                 numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t hCommandListImmediate, uint32_t numCommandLists,
    ze_command_list_handle_t *phCommandLists, const void *pNext, ze_event_handle_t hSignalEvent,
    uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return ze_cpu::zeCommandListImmediateAppendCommandListsExp(
        hCommandListImmediate, numCommandLists, phCommandLists, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendHostFunction(ze_command_list_handle_t hCommandList,
                                            HostFunction pfnHostFunction, void *pUserData, const void *pNext,
                                            ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                            ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(pfnHostFunction);
    if (pNext)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    auto call = [pfnHostFunction, pUserData] { pfnHostFunction(pUserData); };
    return append_function(hCommandList, call, hSignalEvent, numWaitEvents, phWaitEvents);
}

} // namespace ze_cpu

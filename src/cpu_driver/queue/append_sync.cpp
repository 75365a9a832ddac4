// SPDX-License-Identifier: Apache-2.0
//
// Appends of barriers, event signals, event waits, event resets and timestamps.
#include <cstring>
#include <vector>

#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"
#include "event/event.h"
#include "opencl/runtime.h"

namespace ze_cpu {

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t hCommandList, ze_event_handle_t hSignalEvent,
                                       uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    // A list runs in order, so a barrier only has to wait for its events and signal one.
    return append(hCommandList, std::make_shared<MarkerCommand>(), hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t hCommandList, uint32_t numRanges,
                                                   const size_t *pRangeSizes, const void **pRanges,
                                                   ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                   ze_event_handle_t *phWaitEvents) {
    need_handles(hCommandList);
    if (numRanges) {
        need_pointers(pRangeSizes, pRanges);
    }
    return ze_cpu::zeCommandListAppendBarrier(hCommandList, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent) {
    need_handles(hCommandList, hEvent);
    return ze_cpu::zeCommandListAppendBarrier(hCommandList, hEvent, 0, nullptr);
}

ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t hCommandList, uint32_t numEvents,
                                            ze_event_handle_t *phEvents) {
    need_handles(hCommandList);
    need_pointers(phEvents);
    return ze_cpu::zeCommandListAppendBarrier(hCommandList, nullptr, numEvents, phEvents);
}

ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t hCommandList, ze_event_handle_t hEvent) {
    need_handles(hCommandList, hEvent);
    check_append(hCommandList, 0, nullptr);
    if (hEvent->counter_based)
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    return append(hCommandList, std::make_shared<ResetStep>(hEvent->signal), nullptr, 0, nullptr);
}

ze_result_t zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t hCommandList, uint64_t *dstptr,
                                                    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                    ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(dstptr);
    auto write = [dstptr] {
        const uint64_t now = timestamp_now();
        std::memcpy(dstptr, &now, sizeof now);
    };
    return append_function(hCommandList, write, hSignalEvent, numWaitEvents, phWaitEvents);
}

ze_result_t zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t hCommandList,
                                                     uint32_t numEvents, ze_event_handle_t *phEvents,
                                                     void *dstptr, const size_t *pOffsets,
                                                     ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                     ze_event_handle_t *phWaitEvents) {
    check_append(hCommandList, numWaitEvents, phWaitEvents);
    need_pointers(phEvents, dstptr);
    need_each_handle(numEvents, phEvents);
    std::vector<std::pair<SignalPtr, size_t>> targets;
    for (uint32_t i = 0; i < numEvents; i++)
        targets.emplace_back(phEvents[i]->signal,
                             pOffsets ? pOffsets[i] : i * sizeof(ze_kernel_timestamp_result_t));
    auto write = [targets, dstptr] {
        for (const auto &[signal, offset] : targets) {
            ze_kernel_timestamp_result_t result{}; // zeros if the event is not signalled
            signal->timestamps(result);
            std::memcpy(static_cast<char *>(dstptr) + offset, &result, sizeof result);
        }
    };
    return append_function(hCommandList, write, hSignalEvent, numWaitEvents, phWaitEvents);
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

// SPDX-License-Identifier: Apache-2.0
//
// Queries of an event's timestamps. Host and device have one clock, so timestamps in the host's
// time are the kernel's own timestamps.
#include "border/border.h"
#include "border/entry_points.h"
#include "event.h"

namespace ze_cpu {

ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t hEvent, ze_kernel_timestamp_result_t *dstptr) {
    need_handles(hEvent);
    need_pointers(dstptr);
    return hEvent->signal->timestamps(*dstptr);
}

ze_result_t zeEventQueryTimestampsExp(ze_event_handle_t hEvent, ze_device_handle_t hDevice, uint32_t *pCount,
                                      ze_kernel_timestamp_result_t *pTimestamps) {
    need_handles(hEvent, hDevice);
    need_pointers(pCount);
    ze_kernel_timestamp_result_t result{};
    if (*pCount && pTimestamps)
        if (ze_result_t status = hEvent->signal->timestamps(result); status != ZE_RESULT_SUCCESS)
            return status;
    return answer_list(1, pCount, pTimestamps,
                       [&](uint32_t, ze_kernel_timestamp_result_t &to) { to = result; });
}

ze_result_t zeEventQueryKernelTimestampsExt(ze_event_handle_t hEvent, ze_device_handle_t hDevice,
                                            uint32_t *pCount, KernelTimestampsResults *pResults) {
    need_handles(hEvent, hDevice);
    need_pointers(pCount);
    if (*pCount && pResults) {
        ze_kernel_timestamp_result_t result{};
        if (ze_result_t status = hEvent->signal->timestamps(result); status != ZE_RESULT_SUCCESS)
            return status;
        if (pResults->kernel)
            *pResults->kernel = result;
        if (pResults->synchronized)
            *pResults->synchronized = {{result.global.kernelStart, result.global.kernelEnd},
                                       {result.context.kernelStart, result.context.kernelEnd}};
    }
    *pCount = 1;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#include "border.h"
#include "command_list.h"
#include "entry_points.h"
#include "event.h"
#include "kernel.h"

namespace ze_cpu {
ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t hCommandList, ze_kernel_handle_t hKernel,
                                            const ze_group_count_t *pLaunchFuncArgs,
                                            ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                            ze_event_handle_t *phWaitEvents) {
    if (ze_result_t bad = check_append(hCommandList, numWaitEvents, phWaitEvents))
        return bad;
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(pLaunchFuncArgs);
    return guarded([&]() -> ze_result_t {
        ze_result_t result = ZE_RESULT_SUCCESS;
        CommandPtr launch = make_launch(hKernel, *pLaunchFuncArgs, result);
        return launch ? append(hCommandList, launch, hSignalEvent, numWaitEvents, phWaitEvents) : result;
    });
}

ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t hCommandList,
                                                    ze_kernel_handle_t hKernel,
                                                    const ze_group_count_t *pLaunchArgumentsBuffer,
                                                    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
                                                    ze_event_handle_t *phWaitEvents) {
    if (ze_result_t bad = check_append(hCommandList, numWaitEvents, phWaitEvents))
        return bad;
    ZE_CPU_NEED_HANDLE(hKernel);
    ZE_CPU_NEED_POINTER(pLaunchArgumentsBuffer);
    return guarded([&]() -> ze_result_t {
        ze_result_t result = ZE_RESULT_SUCCESS;
        CommandPtr launch = make_indirect_launch(&hKernel, 1, nullptr, pLaunchArgumentsBuffer, result);
        return launch ? append(hCommandList, launch, hSignalEvent, numWaitEvents, phWaitEvents) : result;
    });
}

ze_result_t zeCommandListAppendLaunchMultipleKernelsIndirect(
    ze_command_list_handle_t hCommandList, uint32_t numKernels, ze_kernel_handle_t *phKernels,
    const uint32_t *pCountBuffer, const ze_group_count_t *pLaunchArgumentsBuffer,
    ze_event_handle_t hSignalEvent, uint32_t numWaitEvents, ze_event_handle_t *phWaitEvents) {
    if (ze_result_t bad = check_append(hCommandList, numWaitEvents, phWaitEvents))
        return bad;
    ZE_CPU_NEED_POINTER(phKernels);
    ZE_CPU_NEED_POINTER(pCountBuffer);
    ZE_CPU_NEED_POINTER(pLaunchArgumentsBuffer);
    for (uint32_t i = 0; i < numKernels; i++)
        ZE_CPU_NEED_HANDLE(phKernels[i]);
    return guarded([&]() -> ze_result_t {
        ze_result_t result = ZE_RESULT_SUCCESS;
        CommandPtr launch =
            make_indirect_launch(phKernels, numKernels, pCountBuffer, pLaunchArgumentsBuffer, result);
        return launch ? append(hCommandList, launch, hSignalEvent, numWaitEvents, phWaitEvents) : result;
    });
}

} // namespace ze_cpu

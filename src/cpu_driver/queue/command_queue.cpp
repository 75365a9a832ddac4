// SPDX-License-Identifier: Apache-2.0
#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"
#include "event/event.h"
#include "stream/all_streams.h"

namespace ze_cpu {

ze_result_t zeCommandQueueCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                 const ze_command_queue_desc_t *desc,
                                 ze_command_queue_handle_t *phCommandQueue) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phCommandQueue);
    if (desc->mode > ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS ||
        desc->priority > ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (desc->ordinal != 0 || desc->index != 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *phCommandQueue = new _ze_command_queue_handle_t{hContext, *desc, OwnedSubmission::make()};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t hCommandQueue) {
    return destroy(hCommandQueue);
}

ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t hCommandQueue,
                                              uint32_t numCommandLists,
                                              ze_command_list_handle_t *phCommandLists,
                                              ze_fence_handle_t hFence) {
    need_handles(hCommandQueue);
    need_pointers(phCommandLists);
    if (numCommandLists == 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; i < numCommandLists; i++) {
        need_handles(phCommandLists[i]);
        if (phCommandLists[i]->submission)
            return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
        if (!phCommandLists[i]->closed)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    // One submission: if a command fails, those behind it do not begin.
    std::vector<CommandPtr> all;
    collect(phCommandLists, numCommandLists, all);
    if (hFence) {
        all.push_back(std::make_shared<MarkerCommand>());
        all.back()->signal = hFence->signal;
    }
    OwnedSubmission &submission = hCommandQueue->submission;
    if (ze_result_t result = submission->submit(all); result != ZE_RESULT_SUCCESS)
        return result;
    if (hCommandQueue->desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        return submission->synchronize(Deadline(UINT64_MAX));
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t hCommandQueue, uint64_t timeout) {
    need_handles(hCommandQueue);
    return hCommandQueue->submission->synchronize(Deadline(timeout));
}

ze_result_t zeDeviceSynchronize(ze_device_handle_t hDevice) {
    need_handles(hDevice);
    return synchronize_all();
}

} // namespace ze_cpu

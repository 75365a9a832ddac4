// SPDX-License-Identifier: Apache-2.0
#include "command_list.h"

#include "border/border.h"
#include "border/entry_points.h"
#include "event/event.h"
#include "opencl/thread_limit.h"

namespace ze_cpu {

void check_append(ze_command_list_handle_t list, uint32_t wait_count, ze_event_handle_t *waits) {
    need_handles(list);
    if (wait_count && !waits)
        throw ZE_RESULT_ERROR_INVALID_SIZE;
    need_each_handle(wait_count, waits);
    if (list->closed)
        throw ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

namespace {

bool is_synchronous(const _ze_command_list_handle_t &list) {
    return list.queue.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
}

/// Whether the thread that appends a launch to the immediate list may compute it.
bool runs_here(const _ze_command_list_handle_t &list) {
    return is_synchronous(list) && list.queue.priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
}

} // namespace

ze_result_t submit_at_once(_ze_command_list_handle_t &list, std::span<const CommandPtr> commands) {
    if ((runs_here(list) || thread_limit() == 1) && commands.size() == 1 &&
        list.submission->run_here(*commands[0], list.pool ? &*list.pool : nullptr))
        return ZE_RESULT_SUCCESS;
    ze_result_t result = list.submission->submit(commands);
    if (result == ZE_RESULT_SUCCESS && is_synchronous(list))
        result = list.submission->synchronize(Deadline(UINT64_MAX));
    return result;
}

ze_result_t append(ze_command_list_handle_t list, CommandPtr command, ze_event_handle_t signal,
                   uint32_t wait_count, ze_event_handle_t *waits) {
    for (uint32_t i = 0; i < wait_count; i++)
        command->wait_signals.push_back(waits[i]->signal);
    if (signal) {
        command->signal = signal_to_set(signal);
        command->signals_anew = signal->counter_based != nullptr;
    }
    if (!list->submission) {
        list->commands.push_back(std::move(command));
        return ZE_RESULT_SUCCESS;
    }
    return submit_at_once(*list, {&command, 1});
}

void collect(const ze_command_list_handle_t *lists, uint32_t count, std::vector<CommandPtr> &to) {
    for (uint32_t i = 0; i < count; i++) {
        to.insert(to.end(), lists[i]->commands.begin(), lists[i]->commands.end());
        for (const CommandPtr &command : lists[i]->commands)
            if (command->signals_anew)
                command->signal->start_anew();
    }
}

ze_result_t zeCommandListCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                const ze_command_list_desc_t *desc, ze_command_list_handle_t *phCommandList) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phCommandList);
    if (desc->commandQueueGroupOrdinal != 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    auto list = std::make_unique<_ze_command_list_handle_t>();
    list->context = hContext;
    list->flags = desc->flags;
    *phCommandList = list.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListCreateImmediate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                         const ze_command_queue_desc_t *altdesc,
                                         ze_command_list_handle_t *phCommandList) {
    need_handles(hContext, hDevice);
    need_pointers(altdesc, phCommandList);
    if (altdesc->mode > ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (altdesc->ordinal != 0 || altdesc->index != 0)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    auto list = std::make_unique<_ze_command_list_handle_t>();
    list->context = hContext;
    list->queue = *altdesc;
    list->pool = std::exchange(Threadpool::of_next_list, std::nullopt);
    if (list->pool && !(runs_here(*list) && list->pool->get_num_threads && list->pool->parallel_for))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    list->submission = OwnedSubmission::make();
    *phCommandList = list.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListDestroy(ze_command_list_handle_t hCommandList) {
    return destroy(hCommandList);
}

ze_result_t zeCommandListClose(ze_command_list_handle_t hCommandList) {
    need_handles(hCommandList);
    if (!hCommandList->submission) // immediate lists have no such state; closing one does nothing
        hCommandList->closed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListReset(ze_command_list_handle_t hCommandList) {
    need_handles(hCommandList);
    hCommandList->commands.clear();
    hCommandList->closed = false;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t hCommandList, uint64_t timeout) {
    need_handles(hCommandList);
    if (!hCommandList->submission)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return hCommandList->submission->synchronize(Deadline(timeout));
}

ze_result_t zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t hCommandListImmediate,
                                                        uint32_t numCommandLists,
                                                        ze_command_list_handle_t *phCommandLists,
                                                        ze_event_handle_t hSignalEvent,
                                                        uint32_t numWaitEvents,
                                                        ze_event_handle_t *phWaitEvents) {
    check_append(hCommandListImmediate, numWaitEvents, phWaitEvents);
    need_pointers(phCommandLists);
    if (!hCommandListImmediate->submission)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < numCommandLists; i++) {
        need_handles(phCommandLists[i]);
        if (phCommandLists[i]->submission || !phCommandLists[i]->closed)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    std::vector<CommandPtr> all;
    auto before = std::make_shared<MarkerCommand>(), after = std::make_shared<MarkerCommand>();
    for (uint32_t i = 0; i < numWaitEvents; i++)
        before->wait_signals.push_back(phWaitEvents[i]->signal);
    all.push_back(before);
    collect(phCommandLists, numCommandLists, all);
    if (hSignalEvent)
        after->signal = signal_to_set(hSignalEvent);
    all.push_back(after);
    return submit_at_once(*hCommandListImmediate, all);
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

} // namespace ze_cpu

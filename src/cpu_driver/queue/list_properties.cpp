// SPDX-License-Identifier: Apache-2.0
//
// Queries of what command queues and command lists were created with.
#include "border/border.h"
#include "border/entry_points.h"
#include "command_list.h"
#include "device/handles.h"

namespace ze_cpu {
namespace {

/// Translates the queue flags of an immediate list into the list flags with the same meaning.
ze_command_list_flags_t list_flags(ze_command_queue_flags_t queue) {
    constexpr std::pair<uint32_t, uint32_t> table[] = {
        {ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY, ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY},
        {queue_flag_in_order, list_flag_in_order},
        {queue_flag_copy_offload, list_flag_copy_offload},
    };
    ze_command_list_flags_t flags = 0;
    for (auto [from, to] : table)
        if (queue & from)
            flags |= to;
    return flags;
}

/// Reads a member of the descriptor that an immediate list was created with.
template <class T>
ze_result_t get_immediate(ze_command_list_handle_t list, T *value, T ze_command_queue_desc_t::*member) {
    ZE_CPU_NEED_HANDLE(list);
    ZE_CPU_NEED_POINTER(value);
    if (!list->submission)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *value = list->queue.*member;
    return ZE_RESULT_SUCCESS;
}

template <class T>
ze_result_t get(ze_command_queue_handle_t queue, T *value, T ze_command_queue_desc_t::*member) {
    ZE_CPU_NEED_HANDLE(queue);
    ZE_CPU_NEED_POINTER(value);
    *value = queue->desc.*member;
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t hCommandQueue, uint32_t *pOrdinal) {
    return get(hCommandQueue, pOrdinal, &ze_command_queue_desc_t::ordinal);
}

ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t hCommandQueue, uint32_t *pIndex) {
    return get(hCommandQueue, pIndex, &ze_command_queue_desc_t::index);
}

ze_result_t zeCommandQueueGetFlags(ze_command_queue_handle_t hCommandQueue,
                                   ze_command_queue_flags_t *pFlags) {
    return get(hCommandQueue, pFlags, &ze_command_queue_desc_t::flags);
}

ze_result_t zeCommandQueueGetMode(ze_command_queue_handle_t hCommandQueue, ze_command_queue_mode_t *pMode) {
    return get(hCommandQueue, pMode, &ze_command_queue_desc_t::mode);
}

ze_result_t zeCommandQueueGetPriority(ze_command_queue_handle_t hCommandQueue,
                                      ze_command_queue_priority_t *pPriority) {
    return get(hCommandQueue, pPriority, &ze_command_queue_desc_t::priority);
}

ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t hCommandList,
                                         ze_device_handle_t *phDevice) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(phDevice);
    *phDevice = the_device();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListGetContextHandle(ze_command_list_handle_t hCommandList,
                                          ze_context_handle_t *phContext) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(phContext);
    *phContext = hCommandList->context;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t hCommandList, uint32_t *pOrdinal) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(pOrdinal);
    *pOrdinal = hCommandList->queue.ordinal;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t hCommandList, ze_bool_t *pIsImmediate) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(pIsImmediate);
    *pIsImmediate = bool(hCommandList->submission);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListIsMutableExp(ze_command_list_handle_t hCommandList, ze_bool_t *pIsMutable) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(pIsMutable);
    *pIsMutable = false; // mutable lists are not supported
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListGetFlags(ze_command_list_handle_t hCommandList, ze_command_list_flags_t *pFlags) {
    ZE_CPU_NEED_HANDLE(hCommandList);
    ZE_CPU_NEED_POINTER(pFlags);
    *pFlags = hCommandList->submission ? list_flags(hCommandList->queue.flags) : hCommandList->flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListImmediateGetIndex(ze_command_list_handle_t hCommandListImmediate, uint32_t *pIndex) {
    return get_immediate(hCommandListImmediate, pIndex, &ze_command_queue_desc_t::index);
}

ze_result_t zeCommandListImmediateGetFlags(ze_command_list_handle_t hCommandListImmediate,
                                           ze_command_queue_flags_t *pFlags) {
    return get_immediate(hCommandListImmediate, pFlags, &ze_command_queue_desc_t::flags);
}

ze_result_t zeCommandListImmediateGetMode(ze_command_list_handle_t hCommandListImmediate,
                                          ze_command_queue_mode_t *pMode) {
    return get_immediate(hCommandListImmediate, pMode, &ze_command_queue_desc_t::mode);
}

ze_result_t zeCommandListImmediateGetPriority(ze_command_list_handle_t hCommandListImmediate,
                                              ze_command_queue_priority_t *pPriority) {
    return get_immediate(hCommandListImmediate, pPriority, &ze_command_queue_desc_t::priority);
}

} // namespace ze_cpu

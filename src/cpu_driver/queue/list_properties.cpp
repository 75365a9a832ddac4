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
    return answer(list, value, [member](auto &it) {
        if (!it.submission)
            throw ZE_RESULT_ERROR_INVALID_ARGUMENT;
        return it.queue.*member;
    });
}

} // namespace

ze_result_t zeCommandQueueGetOrdinal(ze_command_queue_handle_t hCommandQueue, uint32_t *pOrdinal) {
    return answer(hCommandQueue, pOrdinal, [](auto &it) { return it.desc.ordinal; });
}

ze_result_t zeCommandQueueGetIndex(ze_command_queue_handle_t hCommandQueue, uint32_t *pIndex) {
    return answer(hCommandQueue, pIndex, [](auto &it) { return it.desc.index; });
}

ze_result_t zeCommandQueueGetFlags(ze_command_queue_handle_t hCommandQueue,
                                   ze_command_queue_flags_t *pFlags) {
    return answer(hCommandQueue, pFlags, [](auto &it) { return it.desc.flags; });
}

ze_result_t zeCommandQueueGetMode(ze_command_queue_handle_t hCommandQueue, ze_command_queue_mode_t *pMode) {
    return answer(hCommandQueue, pMode, [](auto &it) { return it.desc.mode; });
}

ze_result_t zeCommandQueueGetPriority(ze_command_queue_handle_t hCommandQueue,
                                      ze_command_queue_priority_t *pPriority) {
    return answer(hCommandQueue, pPriority, [](auto &it) { return it.desc.priority; });
}

ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t hCommandList,
                                         ze_device_handle_t *phDevice) {
    return answer(hCommandList, phDevice, [](auto &) { return the_device(); });
}

ze_result_t zeCommandListGetContextHandle(ze_command_list_handle_t hCommandList,
                                          ze_context_handle_t *phContext) {
    return answer(hCommandList, phContext, [](auto &it) { return it.context; });
}

ze_result_t zeCommandListGetOrdinal(ze_command_list_handle_t hCommandList, uint32_t *pOrdinal) {
    return answer(hCommandList, pOrdinal, [](auto &it) { return it.queue.ordinal; });
}

ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t hCommandList, ze_bool_t *pIsImmediate) {
    return answer(hCommandList, pIsImmediate, [](auto &it) { return bool(it.submission); });
}

ze_result_t zeCommandListIsMutableExp(ze_command_list_handle_t hCommandList, ze_bool_t *pIsMutable) {
    return answer(hCommandList, pIsMutable, [](auto &) { return ze_bool_t(false); });
}

ze_result_t zeCommandListGetFlags(ze_command_list_handle_t hCommandList, ze_command_list_flags_t *pFlags) {
    return answer(hCommandList, pFlags,
                  [](auto &it) { return it.submission ? list_flags(it.queue.flags) : it.flags; });
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

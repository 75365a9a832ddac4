// SPDX-License-Identifier: Apache-2.0
//
// Shares event pools with other processes of this machine. An IPC handle is valid as long as its
// pool exists.
#include "border/border.h"
#include "border/entry_points.h"
#include "event.h"
#include "process/ipc_handle.h"

namespace ze_cpu {

ze_result_t zeEventPoolGetIpcHandle(ze_event_pool_handle_t hEventPool, ze_ipc_event_pool_handle_t *phIpc) {
    need_handles(hEventPool);
    need_pointers(phIpc);
    if (!hEventPool->shared) // was not created with ZE_EVENT_POOL_FLAG_IPC
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *phIpc =
        IpcHandle::make(IpcHandle::of_events, hEventPool->shared->file()).write<ze_ipc_event_pool_handle_t>();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolPutIpcHandle(ze_context_handle_t hContext, ze_ipc_event_pool_handle_t) {
    need_handles(hContext);
    return ZE_RESULT_SUCCESS; // the handle holds no resource
}

ze_result_t zeEventPoolOpenIpcHandle(ze_context_handle_t hContext, ze_ipc_event_pool_handle_t hIpc,
                                     ze_event_pool_handle_t *phEventPool) {
    need_handles(hContext);
    need_pointers(phEventPool);
    std::shared_ptr<MemoryFile> file = IpcHandle::read(hIpc, IpcHandle::of_events).resolve();
    std::shared_ptr<SharedEvents> shared = file ? SharedEvents::open(std::move(file)) : nullptr;
    if (!shared)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const uint32_t flags = shared->flags(), count = shared->count();
    *phEventPool = new _ze_event_pool_handle_t{hContext, flags, count, false, std::move(shared), true};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolCloseIpcHandle(ze_event_pool_handle_t hEventPool) {
    need_handles(hEventPool);
    if (!hEventPool->is_opened)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    delete hEventPool;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu

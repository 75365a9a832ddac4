// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include "border/border.h"
#include "border/entry_points.h"
#include "device/handles.h"
#include "process/ipc_handle.h"

namespace ze_cpu {

ze_result_t zeEventPoolCreate(ze_context_handle_t hContext, const ze_event_pool_desc_t *desc,
                              uint32_t numDevices, ze_device_handle_t *phDevices,
                              ze_event_pool_handle_t *phEventPool) {
    need_handles(hContext);
    need_pointers(desc, phEventPool);
    if (desc->count == 0 || (!phDevices && numDevices > 0))
        return ZE_RESULT_ERROR_INVALID_SIZE;
    need_each_handle(numDevices, phDevices);
    constexpr uint32_t timestamps = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | pool_mapped_timestamps;
    if (desc->flags & ~(timestamps | ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC) ||
        (desc->flags & timestamps) == timestamps)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const auto *counter_based =
        find_next<const CounterBasedPoolDesc>(desc->pNext, CounterBasedPoolDesc::type);
    if (counter_based && counter_based->flags & ~CounterBasedPoolDesc::all)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const bool is_shared = desc->flags & ZE_EVENT_POOL_FLAG_IPC;
    if (counter_based && is_shared)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    std::shared_ptr<SharedEvents> shared;
    if (is_shared)
        shared = SharedEvents::create(desc->count, desc->flags);
    *phEventPool = new _ze_event_pool_handle_t{hContext, desc->flags, desc->count, counter_based != nullptr,
                                               std::move(shared)};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t hEventPool) {
    need_handles(hEventPool);
    if (hEventPool->is_opened)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT; // zeEventPoolCloseIpcHandle closes it
    delete hEventPool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolGetContextHandle(ze_event_pool_handle_t hEventPool, ze_context_handle_t *phContext) {
    return answer(hEventPool, phContext, [](auto &it) { return it.context; });
}

ze_result_t zeEventPoolGetFlags(ze_event_pool_handle_t hEventPool, ze_event_pool_flags_t *pFlags) {
    return answer(hEventPool, pFlags, [](auto &it) { return it.flags; });
}

ze_result_t zeEventCreate(ze_event_pool_handle_t hEventPool, const ze_event_desc_t *desc,
                          ze_event_handle_t *phEvent) {
    need_handles(hEventPool);
    need_pointers(desc, phEvent);
    if ((desc->signal | desc->wait) & ~event_scopes)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (desc->index >= hEventPool->count)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const _ze_event_pool_handle_t &pool = *hEventPool;
    if (pool.counter_based) {
        *phEvent = make_counter_based(pool.context, hEventPool, *desc, counter_based_host_visible);
        return ZE_RESULT_SUCCESS;
    }
    auto signal =
        pool.shared ? std::make_shared<Signal>(pool.shared, desc->index) : std::make_shared<Signal>();
    if (!pool.is_opened)
        // An earlier event may have used this index. A pool that another process created keeps
        // its states.
        signal->reset();
    *phEvent = new _ze_event_handle_t{hEventPool, *desc, std::move(signal), nullptr};
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventDestroy(ze_event_handle_t hEvent) {
    return destroy(hEvent); // commands that still run keep the Signal alive
}

ze_result_t zeEventHostSignal(ze_event_handle_t hEvent) {
    need_handles(hEvent);
    if (hEvent->counter_based) // only commands signal such an event
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    hEvent->signal->set_by_host();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t hEvent, uint64_t timeout) {
    need_handles(hEvent);
    return hEvent->signal->wait(Deadline(timeout));
}

ze_result_t zeEventQueryStatus(ze_event_handle_t hEvent) {
    need_handles(hEvent);
    return hEvent->signal->status();
}

ze_result_t zeEventHostReset(ze_event_handle_t hEvent) {
    need_handles(hEvent);
    if (hEvent->counter_based)
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    hEvent->signal->reset();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventGetEventPool(ze_event_handle_t hEvent, ze_event_pool_handle_t *phEventPool) {
    need_handles(hEvent);
    need_pointers(phEventPool);
    if (hEvent->counter_based && hEvent->pool == &hEvent->counter_based->pool) // internal
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *phEventPool = hEvent->pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventGetSignalScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope) {
    return answer(hEvent, pScope, [](auto &it) { return it.desc.signal; });
}

ze_result_t zeEventGetWaitScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope) {
    return answer(hEvent, pScope, [](auto &it) { return it.desc.wait; });
}

// Host and device have one clock, so timestamps in the host's time are the kernel's own timestamps.

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

// Event pools of other processes of this machine. An IPC handle is valid as long as its pool exists.

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

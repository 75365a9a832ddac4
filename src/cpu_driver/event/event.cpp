// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include "border/border.h"
#include "border/entry_points.h"
#include "device/handles.h"

namespace ze_cpu {

ze_result_t zeEventPoolCreate(ze_context_handle_t hContext, const ze_event_pool_desc_t *desc,
                              uint32_t numDevices, ze_device_handle_t *phDevices,
                              ze_event_pool_handle_t *phEventPool) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(desc);
    ZE_CPU_NEED_POINTER(phEventPool);
    if (desc->count == 0 || (!phDevices && numDevices > 0))
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; i < numDevices; i++)
        ZE_CPU_NEED_HANDLE(phDevices[i]);
    constexpr uint32_t timestamps = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | pool_mapped_timestamps;
    if (desc->flags & ~(timestamps | ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC) ||
        (desc->flags & timestamps) == timestamps)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    bool counter_based = false;
    for (auto *next = static_cast<const ze_base_desc_t *>(desc->pNext); next;
         next = static_cast<const ze_base_desc_t *>(next->pNext))
        if (next->stype == CounterBasedPoolDesc::type) {
            if (reinterpret_cast<const CounterBasedPoolDesc *>(next)->flags & ~CounterBasedPoolDesc::all)
                return ZE_RESULT_ERROR_INVALID_ENUMERATION;
            counter_based = true;
        }
    const bool is_shared = desc->flags & ZE_EVENT_POOL_FLAG_IPC;
    if (counter_based && is_shared)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return guarded([&] {
        std::shared_ptr<SharedEvents> shared;
        if (is_shared)
            shared = SharedEvents::create(desc->count, desc->flags);
        *phEventPool =
            new _ze_event_pool_handle_t{hContext, desc->flags, desc->count, counter_based, std::move(shared)};
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t hEventPool) {
    ZE_CPU_NEED_HANDLE(hEventPool);
    if (hEventPool->is_opened)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT; // zeEventPoolCloseIpcHandle closes it
    delete hEventPool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolGetContextHandle(ze_event_pool_handle_t hEventPool, ze_context_handle_t *phContext) {
    ZE_CPU_NEED_HANDLE(hEventPool);
    ZE_CPU_NEED_POINTER(phContext);
    *phContext = hEventPool->context;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventPoolGetFlags(ze_event_pool_handle_t hEventPool, ze_event_pool_flags_t *pFlags) {
    ZE_CPU_NEED_HANDLE(hEventPool);
    ZE_CPU_NEED_POINTER(pFlags);
    *pFlags = hEventPool->flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventCreate(ze_event_pool_handle_t hEventPool, const ze_event_desc_t *desc,
                          ze_event_handle_t *phEvent) {
    ZE_CPU_NEED_HANDLE(hEventPool);
    ZE_CPU_NEED_POINTER(desc);
    ZE_CPU_NEED_POINTER(phEvent);
    if ((desc->signal | desc->wait) & ~event_scopes)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (desc->index >= hEventPool->count)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    return guarded([&] {
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
    });
}

ze_result_t zeEventDestroy(ze_event_handle_t hEvent) {
    ZE_CPU_NEED_HANDLE(hEvent);
    delete hEvent; // commands that still run keep the Signal alive
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventHostSignal(ze_event_handle_t hEvent) {
    ZE_CPU_NEED_HANDLE(hEvent);
    if (hEvent->counter_based) // only commands signal such an event
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    return guarded([&] {
        hEvent->signal->set_by_host();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeEventHostSynchronize(ze_event_handle_t hEvent, uint64_t timeout) {
    ZE_CPU_NEED_HANDLE(hEvent);
    return guarded([&] { return hEvent->signal->wait(Deadline(timeout)); });
}

ze_result_t zeEventQueryStatus(ze_event_handle_t hEvent) {
    ZE_CPU_NEED_HANDLE(hEvent);
    return guarded([&] { return hEvent->signal->status(); });
}

ze_result_t zeEventHostReset(ze_event_handle_t hEvent) {
    ZE_CPU_NEED_HANDLE(hEvent);
    if (hEvent->counter_based)
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    return guarded([&] {
        hEvent->signal->reset();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeEventGetEventPool(ze_event_handle_t hEvent, ze_event_pool_handle_t *phEventPool) {
    ZE_CPU_NEED_HANDLE(hEvent);
    ZE_CPU_NEED_POINTER(phEventPool);
    if (hEvent->counter_based && hEvent->pool == &hEvent->counter_based->pool) // internal
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *phEventPool = hEvent->pool;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventGetSignalScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope) {
    ZE_CPU_NEED_HANDLE(hEvent);
    ZE_CPU_NEED_POINTER(pScope);
    *pScope = hEvent->desc.signal;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventGetWaitScope(ze_event_handle_t hEvent, ze_event_scope_flags_t *pScope) {
    ZE_CPU_NEED_HANDLE(hEvent);
    ZE_CPU_NEED_POINTER(pScope);
    *pScope = hEvent->desc.wait;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include "border/border.h"
#include "border/entry_points.h"
#include "device/handles.h"

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

} // namespace ze_cpu

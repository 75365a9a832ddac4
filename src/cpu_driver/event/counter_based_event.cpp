// SPDX-License-Identifier: Apache-2.0
//
// Counter-based events. They need no reset: an append that is to signal such an event makes it
// stand for that command alone, until the next such append. An event that no append has signalled
// yet counts as signalled. They are created without a pool, or in a pool of counter-based events.
#include "border/border.h"
#include "border/entry_points.h"
#include "device/handles.h"
#include "event.h"

namespace ze_cpu {
namespace {

ze_event_pool_flags_t pool_flags(uint32_t flags) {
    return ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
           (flags & counter_based_timestamp ? ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP : 0);
}

} // namespace

SignalPtr signal_to_set(ze_event_handle_t event) {
    if (!event->counter_based)
        return event->signal;
    auto fresh = std::make_shared<Signal>();
    event->signal.replace(fresh);
    return fresh;
}

ze_event_handle_t make_counter_based(ze_context_handle_t context, ze_event_pool_handle_t pool,
                                     const ze_event_desc_t &desc, uint32_t flags) {
    auto counter_based = std::make_unique<CounterBased>();
    counter_based->flags = flags;
    counter_based->pool = {context, pool_flags(flags), 1};
    auto signal = std::make_shared<Signal>();
    signal->set_by_host();
    if (!pool)
        pool = &counter_based->pool;
    return new _ze_event_handle_t{pool, desc, std::move(signal), std::move(counter_based)};
}

ze_result_t zeEventCounterBasedCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                      const CounterBasedEventDesc *desc, ze_event_handle_t *phEvent) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phEvent);
    if (desc->flags & ~counter_based_all || (desc->signal | desc->wait) & ~event_scopes ||
        (desc->flags & counter_based_timestamp) == counter_based_timestamp)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    // Apart from hints, the structures of the chain ask for a counter in the caller's memory.
    each_next(desc->pNext, [](const ze_base_desc_t &next) {
        if (uint32_t(next.stype) != event_sync_mode_desc)
            throw ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    });
    if (desc->flags & counter_based_ipc)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    ze_event_desc_t event_desc{};
    event_desc.signal = desc->signal;
    event_desc.wait = desc->wait;
    *phEvent = make_counter_based(hContext, nullptr, event_desc, desc->flags);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeEventGetCounterBasedFlags(ze_event_handle_t hEvent, uint32_t *pFlags) {
    return answer(hEvent, pFlags, [](auto &it) { return it.counter_based ? it.counter_based->flags : 0; });
}

} // namespace ze_cpu

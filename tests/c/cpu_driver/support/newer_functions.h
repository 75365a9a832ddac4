// SPDX-License-Identifier: Apache-2.0
//
// Functions and types of Level Zero 1.9 to 1.17, which the oldest headers lack.
#pragma once

#include "ze_test.h"

struct NewerFunctions {
    using List = ze_command_list_handle_t;
    using Queue = ze_command_queue_handle_t;
    using Event = ze_event_handle_t;
    using HostFunction = void (*)(void *);

    struct EventDesc { // ze_event_counter_based_desc_t
        uint32_t stype = 0x0002003a;
        const void *next = nullptr;
        uint32_t flags = 0;
        ze_event_scope_flags_t signal = 0;
        ze_event_scope_flags_t wait = 0;
    };
    static constexpr uint32_t immediate = 1, regular = 2, host_visible = 4, ipc = 8, timestamps = 16,
                              host_timestamps = 32;

    // name, getter of its table, slot in it, parameters
#define NEWER_FUNCTIONS(X)                                                                                   \
    X(zeCommandQueueGetOrdinal, zeGetCommandQueueProcAddrTable, 4, (Queue, uint32_t *))                      \
    X(zeCommandQueueGetIndex, zeGetCommandQueueProcAddrTable, 5, (Queue, uint32_t *))                        \
    X(zeCommandQueueGetFlags, zeGetCommandQueueProcAddrTable, 6, (Queue, uint32_t *))                        \
    X(zeCommandQueueGetMode, zeGetCommandQueueProcAddrTable, 7, (Queue, ze_command_queue_mode_t *))          \
    X(zeCommandQueueGetPriority, zeGetCommandQueueProcAddrTable, 8, (Queue, ze_command_queue_priority_t *))  \
    X(zeCommandListGetOrdinal, zeGetCommandListProcAddrTable, 31, (List, uint32_t *))                        \
    X(zeCommandListImmediateGetIndex, zeGetCommandListProcAddrTable, 32, (List, uint32_t *))                 \
    X(zeCommandListAppendMemoryCopyWithParameters, zeGetCommandListProcAddrTable, 38,                        \
      (List, void *, const void *, size_t, const void *, Event, uint32_t, Event *))                          \
    X(zeCommandListAppendMemoryFillWithParameters, zeGetCommandListProcAddrTable, 39,                        \
      (List, void *, const void *, size_t, size_t, const void *, Event, uint32_t, Event *))                  \
    X(zeCommandListImmediateAppendCommandListsWithParameters, zeGetCommandListProcAddrTable, 40,             \
      (List, uint32_t, List *, const void *, Event, uint32_t, Event *))                                      \
    X(zeCommandListGetFlags, zeGetCommandListProcAddrTable, 41, (List, uint32_t *))                          \
    X(zeCommandListImmediateGetFlags, zeGetCommandListProcAddrTable, 42, (List, uint32_t *))                 \
    X(zeCommandListImmediateGetMode, zeGetCommandListProcAddrTable, 43, (List, ze_command_queue_mode_t *))   \
    X(zeCommandListImmediateGetPriority, zeGetCommandListProcAddrTable, 44,                                  \
      (List, ze_command_queue_priority_t *))                                                                 \
    X(zeCommandListAppendHostFunction, zeGetCommandListProcAddrTable, 51,                                    \
      (List, HostFunction, void *, const void *, Event, uint32_t, Event *))                                  \
    X(zeCommandListIsMutableExp, zeGetCommandListExpProcAddrTable, 8, (List, ze_bool_t *))                   \
    X(zeEventCounterBasedCreate, zeGetEventProcAddrTable, 11,                                                \
      (ze_context_handle_t, ze_device_handle_t, const EventDesc *, Event *))                                 \
    X(zeEventGetCounterBasedFlags, zeGetEventProcAddrTable, 16, (Event, uint32_t *))                         \
    X(zeEventGetEventPool, zeGetEventProcAddrTable, 8, (Event, ze_event_pool_handle_t *))

#define NEWER_DECLARE(name, getter, slot, parameters) ze_result_t(*name) parameters = nullptr;
    NEWER_FUNCTIONS(NEWER_DECLARE)
#undef NEWER_DECLARE
    ze_context_handle_t (*zeDriverGetDefaultContext)(ze_driver_handle_t) = nullptr;

    void take() {
#define NEWER_TAKE(name, getter, slot, ...) take(name, #name, #getter, slot);
        NEWER_FUNCTIONS(NEWER_TAKE)
#undef NEWER_TAKE
        take(zeDriverGetDefaultContext, "zeDriverGetDefaultContext", "zeGetDriverProcAddrTable", 8);
    }

private:
    template <class F> static void take(F &function, const char *name, const char *getter, unsigned slot) {
        function = reinterpret_cast<F>(newer_function(name, getter, slot));
    }
};

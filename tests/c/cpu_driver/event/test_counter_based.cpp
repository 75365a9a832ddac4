// SPDX-License-Identifier: Apache-2.0
//
// Counter-based events: each append that is to signal one makes it stand for that command alone.
#include "newer_functions.h"

static NewerFunctions newer;
static ze_event_pool_handle_t pool;
static ze_event_handle_t gates[4];

static Owned<ze_event_handle_t> make(uint32_t flags = NewerFunctions::host_visible) {
    NewerFunctions::EventDesc desc;
    desc.flags = flags;
    desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    OK(newer.zeEventCounterBasedCreate(context, device, &desc, &event));
    return Owned(event);
}

static bool is_ready(ze_event_handle_t event) {
    const ze_result_t result = ze.zeEventQueryStatus(event);
    CHECK(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY);
    return result == ZE_RESULT_SUCCESS;
}

static void close_gates() {
    for (ze_event_handle_t gate : gates)
        OK(ze.zeEventHostReset(gate));
}

/// The older way to make such events (SYCL's runtime uses it): a pool of counter-based events.
struct CounterBasedPool { // ze_event_pool_counter_based_exp_desc_t
    explicit CounterBasedPool(uint32_t f) : flags(f) {}
    ze_structure_type_t stype = ze_structure_type_t(0x20014);
    const void *next = nullptr;
    uint32_t flags;
};

static Owned<ze_event_pool_handle_t> counting_pool(uint32_t pool_flags) {
    const CounterBasedPool how{pool_flags};
    ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, &how, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_pool_handle_t counting = nullptr;
    OK(ze.zeEventPoolCreate(context, &desc, 1, &device, &counting));
    return Owned(counting);
}

static void of_a_pool() {
    const auto counting = counting_pool(3);
    const auto event = make_event(counting, 0);
    const auto list = immediate_list();
    CHECK(is_ready(event));
    close_gates();
    for (int round = 0; round < 3; round++) { // no reset in between
        OK(ze.zeCommandListAppendBarrier(list, event, 1, &gates[0]));
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[0]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(is_ready(event));
        close_gates();
    }
    finish(list);
    const CounterBasedPool wrong{1u << 5}, both{3};
    ze_event_pool_handle_t none = nullptr;
    ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, &wrong, 0, 1};
    CHECK_RESULT(ze.zeEventPoolCreate(context, &desc, 1, &device, &none),
                 ZE_RESULT_ERROR_INVALID_ENUMERATION);
    desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, &both, ZE_EVENT_POOL_FLAG_IPC, 1};
    CHECK_RESULT(ze.zeEventPoolCreate(context, &desc, 1, &device, &none),
                 ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

/// An event is used again without a reset. A wait for an earlier use goes on waiting for that one.
static void moves_on() {
    const auto first = immediate_list(), second = immediate_list();
    const auto event = make();
    CHECK(is_ready(event)); // nothing to wait for yet
    OK(ze.zeEventHostSynchronize(event, 0));
    close_gates();
    for (int round = 0; round < 3; round++) {
        OK(ze.zeCommandListAppendBarrier(first, event, 1, &gates[0]));
        CHECK(!is_ready(event));
        CHECK_RESULT(ze.zeEventHostSynchronize(event, 1000), ZE_RESULT_NOT_READY);
        OK(ze.zeCommandListAppendWaitOnEvents(second, 1, &event));
        OK(ze.zeCommandListAppendBarrier(first, event, 1, &gates[1]));
        OK(ze.zeEventHostSignal(gates[0]));
        finish(second); // waited for the first use
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[1]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(is_ready(event));
        finish(first);
        close_gates();
    }
}

/// One event carries a chain over two lists: each append waits for it and signals it.
static void chain() {
    const Owned<ze_command_list_handle_t> lists[] = {immediate_list(), immediate_list()};
    const auto event = make();
    close_gates();
    const auto a = shared<int>(64 * sizeof(int));
    std::memset(a, 0, 64 * sizeof(int));
    a[0] = 1;
    OK(ze.zeCommandListAppendBarrier(lists[0], event, 1, &gates[0]));
    for (int i = 1; i < 64; i++)
        OK(ze.zeCommandListAppendMemoryCopy(lists[i % 2], &a[i], &a[i - 1], sizeof(int), event, 1, &event));
    CHECK(!is_ready(event) && a[63] == 0);
    OK(ze.zeEventHostSignal(gates[0]));
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(a[63] == 1);
    for (ze_command_list_handle_t list : lists)
        finish(list);
}

/// A closed list that is executed again signals again: the execution before does not count.
static void executed_again(bool by_queue) {
    const auto queue = make_queue(ZE_COMMAND_QUEUE_MODE_DEFAULT);
    const auto regular = regular_list(), list = immediate_list();
    const auto event = make(NewerFunctions::regular | NewerFunctions::host_visible);
    close_gates();
    int from = 0, to = 0;
    OK(ze.zeCommandListAppendWaitOnEvents(regular, 1, &gates[0]));
    OK(ze.zeCommandListAppendMemoryCopy(regular, &to, &from, sizeof to, event, 0, nullptr));
    OK(ze.zeCommandListClose(regular));
    CHECK(!is_ready(event));
    for (int round = 1; round < 4; round++) {
        from = round;
        if (by_queue)
            OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &regular, nullptr));
        else
            OK(newer.zeCommandListImmediateAppendCommandListsWithParameters(list, 1, &regular, nullptr,
                                                                            nullptr, 0, nullptr));
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[0]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(to == round);
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
        finish(list);
        close_gates();
    }
}

/// Events without a flag for timestamps have them, too: programs sometimes forget the flag.
static void timestamps() {
    const auto list = immediate_list();
    for (const uint32_t flags :
         {uint32_t(NewerFunctions::timestamps), uint32_t(NewerFunctions::host_visible)}) {
        const auto event = make(flags);
        int from = 1, to = 0;
        OK(ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, event, 0, nullptr));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        ze_kernel_timestamp_result_t result{};
        OK(ze.zeEventQueryKernelTimestamp(event, &result));
        CHECK(result.global.kernelStart > 0 && result.global.kernelEnd >= result.global.kernelStart);
        finish(list);
    }
}

static void refusals() {
    const auto event = make();
    ze_event_handle_t other = nullptr;
    const auto list = immediate_list();
    const auto wrong_object = ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    CHECK_RESULT(ze.zeEventHostSignal(event), wrong_object);
    CHECK_RESULT(ze.zeEventHostReset(event), wrong_object);
    CHECK_RESULT(ze.zeCommandListAppendEventReset(list, event), wrong_object);
    ze_event_pool_handle_t of = nullptr;
    CHECK_RESULT(newer.zeEventGetEventPool(event, &of), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    uint32_t flags = 0;
    OK(newer.zeEventGetCounterBasedFlags(event, &flags));
    CHECK(flags == NewerFunctions::host_visible);
    OK(newer.zeEventGetCounterBasedFlags(gates[0], &flags));
    CHECK(flags == 0);
    NewerFunctions::EventDesc desc;
    desc.flags = NewerFunctions::ipc;
    CHECK_RESULT(newer.zeEventCounterBasedCreate(context, device, &desc, &other),
                 ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    desc.flags = NewerFunctions::timestamps | NewerFunctions::host_timestamps;
    CHECK_RESULT(newer.zeEventCounterBasedCreate(context, device, &desc, &other),
                 ZE_RESULT_ERROR_INVALID_ENUMERATION);
    const ze_base_desc_t counter_of_the_caller{ze_structure_type_t(0x0002003b), nullptr};
    desc.flags = 0;
    desc.next = &counter_of_the_caller;
    CHECK_RESULT(newer.zeEventCounterBasedCreate(context, device, &desc, &other),
                 ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    newer.take();
    pool = make_pool(4).release();
    for (uint32_t i = 0; i < 4; i++)
        gates[i] = make_event(pool, i).release();
    moves_on();
    of_a_pool();
    chain();
    executed_again(true);
    executed_again(false);
    timestamps();
    refusals();
    for (ze_event_handle_t gate : gates)
        OK(ze.zeEventDestroy(gate));
    OK(ze.zeEventPoolDestroy(pool));
    OK(ze.zeContextDestroy(context));
    std::puts("ok");
}

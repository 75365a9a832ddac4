// SPDX-License-Identifier: Apache-2.0
// Counter-based events: each append that is to signal one makes it stand for that command alone.
#include "ze_test.h"

using namespace ze_cpu;

/// Events of the host, for commands to wait for.
struct Gates {
    Owned<ze_event_handle_t> of[2] = {make_event(), make_event()};
    const Owned<ze_event_handle_t> &operator[](int i) const { return of[i]; }
    void close() const {
        for (ze_event_handle_t gate : of)
            OK(ze.zeEventHostReset(gate));
    }
};

static CounterBasedEventDesc described(uint32_t flags, const void *next = nullptr) {
    return {ze_structure_type_t(0x0002003a), next, flags, ZE_EVENT_SCOPE_FLAG_HOST, 0};
}

static Owned<ze_event_handle_t> make(uint32_t flags = counter_based_host_visible) {
    const auto desc = described(flags);
    return made(ze.zeEventCounterBasedCreate, context, device, &desc);
}

static bool is_ready(ze_event_handle_t event) {
    const ze_result_t result = ze.zeEventQueryStatus(event);
    CHECK(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY);
    return result == ZE_RESULT_SUCCESS;
}

/// The older way to make such events (SYCL's runtime uses it): a pool of counter-based events.
static CounterBasedPoolDesc of_pool(uint32_t flags) {
    return {CounterBasedPoolDesc::type, nullptr, flags};
}

TEST(of_a_pool) {
    const Gates gates;
    const auto how = of_pool(CounterBasedPoolDesc::all);
    const auto counting = make_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, &how);
    const auto event = make_event(counting, 0);
    CHECK(is_ready(event));
    for (int round = 0; round < 3; round++) { // no reset in between
        OK(ze.zeCommandListAppendBarrier(list, event, 1, &gates[0]));
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[0]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(is_ready(event));
        gates.close();
    }
    finish(list);
    const auto wrong = of_pool(1u << 5);
    ze_event_pool_handle_t none = nullptr;
    ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, &wrong, 0, 1};
    REFUSED(INVALID_ENUMERATION, ze.zeEventPoolCreate(context, &desc, 1, &device, &none));
    desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, &how, ZE_EVENT_POOL_FLAG_IPC, 1};
    REFUSED(UNSUPPORTED_FEATURE, ze.zeEventPoolCreate(context, &desc, 1, &device, &none));
}

/// An event is used again without a reset. A wait for an earlier use goes on waiting for that one.
TEST(moves_on) {
    const Gates gates;
    const auto first = immediate_list(), second = immediate_list();
    const auto event = make();
    CHECK(is_ready(event)); // nothing to wait for yet
    OK(ze.zeEventHostSynchronize(event, 0));
    for (int round = 0; round < 3; round++) {
        OK(ze.zeCommandListAppendBarrier(first, event, 1, &gates[0]));
        CHECK(!is_ready(event));
        NOT_READY(ze.zeEventHostSynchronize(event, 1000));
        OK(ze.zeCommandListAppendWaitOnEvents(second, 1, &event));
        OK(ze.zeCommandListAppendBarrier(first, event, 1, &gates[1]));
        OK(ze.zeEventHostSignal(gates[0]));
        finish(second); // waited for the first use
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[1]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(is_ready(event));
        finish(first);
        gates.close();
    }
}

/// One event carries a chain over two lists: each append waits for it and signals it.
TEST(chain) {
    const Gates gates;
    const Owned<ze_command_list_handle_t> lists[] = {immediate_list(), immediate_list()};
    const auto event = make();
    const auto a = zeros<int>(64 * sizeof(int));
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
    const Gates gates;
    const auto queue = make_queue(ZE_COMMAND_QUEUE_MODE_DEFAULT);
    const auto regular = regular_list();
    const auto event = make(1u << 1 | counter_based_host_visible);
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
            append(ze.zeCommandListImmediateAppendCommandListsWithParameters, list, 1, &regular, nullptr);
        CHECK(!is_ready(event));
        OK(ze.zeEventHostSignal(gates[0]));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        CHECK(to == round);
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
        finish(list);
        gates.close();
    }
}

/// Events without a flag for timestamps have them, too: programs sometimes forget the flag.
TEST(timestamps) {
    for (const uint32_t flags : {1u << 4, counter_based_host_visible}) {
        const auto event = make(flags);
        int from = 1, to = 0;
        OK(ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, event, 0, nullptr));
        OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
        const auto result = got(ze.zeEventQueryKernelTimestamp, event);
        CHECK(result.global.kernelStart > 0 && result.global.kernelEnd >= result.global.kernelStart);
        finish(list);
    }
}

TEST(refusals) {
    const Gates gates;
    const auto event = make();
    ze_event_handle_t other = nullptr;
    REFUSED(INVALID_SYNCHRONIZATION_OBJECT, ze.zeEventHostSignal(event));
    REFUSED(INVALID_SYNCHRONIZATION_OBJECT, ze.zeEventHostReset(event));
    REFUSED(INVALID_SYNCHRONIZATION_OBJECT, ze.zeCommandListAppendEventReset(list, event));
    ze_event_pool_handle_t of = nullptr;
    REFUSED(INVALID_ARGUMENT, ze.zeEventGetEventPool(event, &of));
    CHECK(got(ze.zeEventGetCounterBasedFlags, event) == counter_based_host_visible);
    CHECK(got(ze.zeEventGetCounterBasedFlags, ze_event_handle_t(gates[0])) == 0);
    auto desc = described(counter_based_ipc);
    REFUSED(UNSUPPORTED_FEATURE, ze.zeEventCounterBasedCreate(context, device, &desc, &other));
    desc.flags = counter_based_timestamp; // of both kinds
    REFUSED(INVALID_ENUMERATION, ze.zeEventCounterBasedCreate(context, device, &desc, &other));
    const ze_base_desc_t counter_of_the_caller{ze_structure_type_t(0x0002003b), nullptr};
    desc = described(0, &counter_of_the_caller);
    REFUSED(UNSUPPORTED_FEATURE, ze.zeEventCounterBasedCreate(context, device, &desc, &other));
}

TEST(closed_lists) {
    executed_again(true);
    executed_again(false);
}

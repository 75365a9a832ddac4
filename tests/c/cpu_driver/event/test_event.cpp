// SPDX-License-Identifier: Apache-2.0
// Events: host and device signals, waits across lists, resets, reuse.
#include <atomic>
#include <chrono>
#include <thread>

#include "ze_test.h"

static void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TEST(host_side) {
    const auto pool = make_pool(2);
    const auto event = make_event(pool, 0);
    NOT_READY(ze.zeEventQueryStatus(event));
    NOT_READY(ze.zeEventHostSynchronize(event, 0));
    NOT_READY(ze.zeEventHostSynchronize(event, 2000000));
    OK(ze.zeEventHostSignal(event));
    OK(ze.zeEventQueryStatus(event));
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    OK(ze.zeEventHostReset(event));
    NOT_READY(ze.zeEventQueryStatus(event));
    std::thread other([&] {
        sleep_ms(20);
        OK(ze.zeEventHostSignal(event));
    });
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    other.join();
    ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 2, 0, 0};
    ze_event_handle_t bad = nullptr;
    REFUSED(INVALID_ARGUMENT, ze.zeEventCreate(pool, &desc, &bad));
}

/// The host holds back commands on several lists, which are already appended.
TEST(host_signals_device) {
    const auto start = make_event(), middle = make_event(), end = make_event();
    const auto first = immediate_list(), second = immediate_list();
    const auto add = make_kernel("add_one");
    const auto a = shared<int>(4);
    int copy = -1;
    set_arg(add, 0, a);
    for (int round = 0; round < 20; round++) {
        *a = 0;
        // The second list waits for what the first signals, and its wait is appended first.
        OK(ze.zeCommandListAppendMemoryCopy(second, &copy, a, 4, end, 1, &middle));
        OK(ze.zeCommandListAppendWaitOnEvents(first, 1, &start));
        launch(first, add, 1, 1);
        launch(first, add, 1, 1);
        OK(ze.zeCommandListAppendSignalEvent(first, middle));
        if (round % 4 == 0)
            sleep_ms(2);
        CHECK(*a == 0);
        NOT_READY(ze.zeEventQueryStatus(end));
        NOT_READY(ze.zeCommandListHostSynchronize(first, 1000));
        OK(ze.zeEventHostSignal(start));
        OK(ze.zeEventHostSynchronize(end, UINT64_MAX));
        CHECK(copy == 2);
        finish(first);
        finish(second);
        for (ze_event_handle_t *event : {&start, &middle, &end})
            OK(ze.zeEventHostReset(*event));
    }
}

/// Regular lists that signal, wait and reset the same event, executed several times on two queues.
TEST(recorded) {
    const Owned<ze_command_queue_handle_t> queues[] = {make_queue(), make_queue()};
    const auto producer = regular_list(), consumer = regular_list();
    const auto event = make_event();
    const auto add = make_kernel("add_one");
    const auto a = shared<int>(4);
    int copy = 0;
    *a = 0;
    set_arg(add, 0, a);
    launch(producer, add, 1, 1, event);
    OK(ze.zeCommandListClose(producer));
    OK(ze.zeCommandListAppendMemoryCopy(consumer, &copy, a, 4, nullptr, 1, &event));
    OK(ze.zeCommandListAppendEventReset(consumer, event));
    OK(ze.zeCommandListClose(consumer));
    for (int i = 1; i <= 20; i++) {
        OK(ze.zeCommandQueueExecuteCommandLists(queues[1], 1, &consumer,
                                                nullptr)); // waits for the other queue
        OK(ze.zeCommandQueueExecuteCommandLists(queues[0], 1, &producer, nullptr));
        OK(ze.zeCommandQueueSynchronize(queues[1], UINT64_MAX));
        CHECK(copy == i);
        NOT_READY(ze.zeEventQueryStatus(event));
        OK(ze.zeCommandQueueSynchronize(queues[0], UINT64_MAX));
    }
}

/// An event stays signalled while a command is about to signal it again.
TEST(signalled_twice) {
    const auto event = make_event(), start = make_event();
    const auto list = immediate_list(), other = immediate_list();
    OK(ze.zeEventHostSignal(event));
    for (int round = 0; round < 2; round++) { // signalled by the host, then by the device
        OK(ze.zeCommandListAppendWaitOnEvents(list, 1, &start));
        OK(ze.zeCommandListAppendSignalEvent(list, event));
        OK(ze.zeEventQueryStatus(event));
        spin(other, 200000000, event);
        OK(ze.zeEventQueryStatus(event));
        OK(ze.zeEventHostSynchronize(event, 0));
        OK(ze.zeEventHostSignal(start));
        finish(list);
        OK(ze.zeEventQueryStatus(event));
        finish(other);
        OK(ze.zeEventHostReset(event));
        NOT_READY(ze.zeEventQueryStatus(event));
        OK(ze.zeEventHostReset(start));
        OK(ze.zeCommandListAppendSignalEvent(list, event));
        finish(list);
    }
}

/// A reset does not take away a signal that is yet to come.
TEST(reset_before_the_signal) {
    const auto event = make_event();
    const auto list = immediate_list(), other = immediate_list();
    const volatile int *out = spin(list, 200000000, event);
    OK(ze.zeEventHostReset(event));
    OK(ze.zeCommandListAppendEventReset(other, event));
    finish(other);
    OK(ze.zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(out[0] != 0);
    OK(ze.zeEventQueryStatus(event));
}

/// A list whose wait is never satisfied can still be destroyed.
TEST(abandoned) {
    const auto never = make_event();
    const auto list = immediate_list();
    OK(ze.zeCommandListAppendWaitOnEvents(list, 1, &never));
    append(ze.zeCommandListAppendBarrier, list);
}

/// An event that a list signals again and again, and whose state nobody asks for.
TEST(signalled_often) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return; // the sanitizers keep memory
#endif
    const auto event = make_event();
    const auto queue = make_queue();
    const auto list = regular_list();
    int from = 1, to = 0;
    OK(ze.zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, event, 0, nullptr));
    OK(ze.zeCommandListClose(list));
    long before = 0;
    for (int i = 0; i < 22000; i++) {
        OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
        if (i == 2000)
            before = resident_kb();
    }
    CHECK(resident_kb() - before < 8 * 1024); // 1 KiB for each signal would be 20 MiB
    OK(ze.zeEventQueryStatus(event));
}

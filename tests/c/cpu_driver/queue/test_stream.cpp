// SPDX-License-Identifier: Apache-2.0
// Streams that wait for something outside of the driver. Nothing else waits with them, and the
// driver needs no thread of its own to resume them.
#include <atomic>
#include <thread>

#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

#include "ze_test.h"

static std::atomic<bool> no_threads{false};

/// Replaces the function of the C library, for the driver, too.
extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    using Function = decltype(&pthread_create);
    static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_create"));
    return no_threads ? EAGAIN : real(thread, attributes, start, argument);
}

/// A list whose command waits for an event of the host.
struct HeldBack {
    Owned<ze_event_handle_t> start = make_event(), end = make_event();
    Owned<int *> value = shared<int>(4);
    Owned<ze_kernel_handle_t> add = make_kernel("add_one");
    Owned<ze_command_list_handle_t> list = immediate_list();

    HeldBack() {
        *value = 0;
        set_arg(add, 0, value);
        launch(list, add, 1, 1, end, {start});
    }
};

/// Calls `wait`, which must return only after the list has run. Meanwhile this thread creates and
/// destroys lists.
template <class Wait> static void beside(Wait wait) {
    HeldBack held;
    std::atomic<bool> is_over{false};
    std::thread waiting([&] {
        wait();
        is_over = true;
    });
    for (int i = 0; i < 200; i++)
        immediate_list();
    CHECK(!is_over);
    OK(ze.zeEventHostSignal(held.start));
    waiting.join();
    CHECK(*held.value == 1);
}

TEST(waits_for_the_device) {
    beside([] { OK(ze.zeDeviceSynchronize(device)); });
    beside([] {
        ze_memory_free_ext_desc_t blocking{ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                           ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
        OK(ze.zeMemFreeExt(context, &blocking, shared<int>(64).release()));
    });
}

/// Lists come and go while a kernel runs and another thread waits for it.
TEST(beside_a_kernel) {
    const auto done = make_event();
    const auto list = immediate_list();
    spin(list, 1000000000, done);
    std::thread waiting([] { OK(ze.zeDeviceSynchronize(device)); });
    for (int i = 0; i < 100; i++)
        immediate_list();
    NOT_READY(ze.zeEventQueryStatus(done));
    waiting.join();
    OK(ze.zeEventQueryStatus(done));
}

TEST(without_threads) {
    no_threads = true;
    HeldBack held;
    OK(ze.zeCommandListAppendEventReset(held.list, held.start));
    launch(held.list, held.add, 1, 1);
    NOT_READY(ze.zeCommandListHostSynchronize(held.list, 0));
    OK(ze.zeEventHostSignal(held.start));
    finish(held.list);
    CHECK(*held.value == 2);
    NOT_READY(ze.zeEventQueryStatus(held.start));
    no_threads = false;
}

/// One signal starts thousands of hand-overs. Each enqueues the next, but the stack does not grow.
TEST(long_chain) {
    const int rounds = 5000;
    HeldBack held;
    const Owned<ze_command_list_handle_t> lists[] = {immediate_list(), immediate_list()};
    const Owned<ze_event_handle_t> turns[] = {make_event(), make_event()};
    OK(ze.zeCommandListAppendWaitOnEvents(lists[0], 1, &held.end));
    for (int i = 0; i < rounds; i++)
        for (int side = 0; side < 2; side++) {
            if (i || side) {
                OK(ze.zeCommandListAppendWaitOnEvents(lists[side], 1, &turns[1 - side]));
                OK(ze.zeCommandListAppendEventReset(lists[side], turns[1 - side]));
            }
            launch(lists[side], held.add, 1, 1, turns[side]);
        }
    CHECK(*held.value == 0);
    OK(ze.zeEventHostSignal(held.start));
    for (ze_command_list_handle_t list : lists)
        finish(list);
    CHECK(*held.value == 1 + 2 * rounds);
    NOT_READY(ze.zeEventQueryStatus(turns[0]));
    OK(ze.zeEventQueryStatus(turns[1]));
}

/// A list that an event of the host holds back is executed on two queues. Each execution reads its
/// group counts when it launches.
TEST(indirect_on_two_queues) {
    HeldBack held[2];
    const auto list = regular_list();
    const auto sums = zeros<int>(64 * 4);
    const auto groups = shared<ze_group_count_t>(sizeof(ze_group_count_t));
    set_arg(held[0].add, 0, sums);
    OK(ze.zeKernelSetGroupSize(held[0].add, 1, 1, 1));
    append(ze.zeCommandListAppendLaunchKernelIndirect, list, held[0].add, groups);
    OK(ze.zeCommandListClose(list));
    const Owned<ze_command_list_handle_t> waits[] = {regular_list(), regular_list()};
    const Owned<ze_command_queue_handle_t> queues[] = {make_queue(), make_queue()};
    for (int i = 0; i < 2; i++) {
        OK(ze.zeCommandListAppendWaitOnEvents(waits[i], 1, &held[i].start));
        OK(ze.zeCommandListClose(waits[i]));
        ze_command_list_handle_t both[2] = {waits[i], list};
        OK(ze.zeCommandQueueExecuteCommandLists(queues[i], 2, both, nullptr));
    }
    const uint32_t counts[2] = {40, 8};
    for (int i = 0; i < 2; i++) {
        *groups = {counts[i], 1, 1};
        OK(ze.zeEventHostSignal(held[i].start));
        OK(ze.zeCommandQueueSynchronize(queues[i], UINT64_MAX));
    }
    for (uint32_t i = 0; i < 64; i++)
        CHECK(sums[i] == int(i < counts[0]) + int(i < counts[1]));
}

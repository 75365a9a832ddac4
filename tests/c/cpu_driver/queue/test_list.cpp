// SPDX-License-Identifier: Apache-2.0
// Immediate and regular lists, queues, fences, copies, fills, timestamps.
#include <cfenv>
#include <thread>

#include "ze_test.h"

static void copies(ze_command_list_handle_t list) {
    const size_t n = 100003;
    std::vector<uint8_t> a(n), b(n), c(n);
    for (size_t i = 0; i < n; i++)
        a[i] = uint8_t(i * 7);
    append(ze.zeCommandListAppendMemoryCopy, list, b.data(), a.data(), n);
    append(ze.zeCommandListAppendMemoryCopyFromContext, list, c.data(), context, b.data(), n);
    OK(ze.zeCommandListAppendMemoryPrefetch(list, a.data(), n));
    OK(ze.zeCommandListAppendMemAdvise(list, device, a.data(), n, ZE_MEMORY_ADVICE_SET_READ_MOSTLY));
    if (direct) { // older layers of validation refuse the newest advice, of Level Zero 1.9
        OK(ze.zeCommandListAppendMemAdvise(list, device, a.data(), n, ze_memory_advice_t(9)));
        REFUSED(INVALID_ENUMERATION,
                ze.zeCommandListAppendMemAdvise(list, device, a.data(), n, ze_memory_advice_t(10)));
    }
    append(ze.zeCommandListAppendMemoryCopy, list, b.data(), a.data(), 0);
    finish(list);
    CHECK(a == b && a == c);
}

static void fills(ze_command_list_handle_t list) {
    std::vector<uint8_t> memory(200000);
    for (size_t pattern_size : {1, 2, 4, 8, 16, 32, 64, 128})
        for (size_t size : {pattern_size, 3 * pattern_size, size_t(4096), size_t(102400), size_t(199936)}) {
            std::vector<uint8_t> pattern(pattern_size);
            for (size_t i = 0; i < pattern_size; i++)
                pattern[i] = uint8_t(i * 3 + pattern_size);
            std::fill(memory.begin(), memory.end(), uint8_t(0xee));
            append(ze.zeCommandListAppendMemoryFill, list, memory.data() + 1, pattern.data(), pattern_size,
                   size);
            std::fill(pattern.begin(), pattern.end(), uint8_t(0)); // captured at the append
            finish(list);
            CHECK(memory[0] == 0xee && memory[size + 1] == 0xee);
            for (size_t i = 0; i < size; i++)
                CHECK(memory[i + 1] == uint8_t(i % pattern_size * 3 + pattern_size));
        }
    const char pattern[256] = {};
    for (size_t bad : {3, 256, 128}) // the last does not divide the size
        REFUSED_APPEND(INVALID_SIZE, zeCommandListAppendMemoryFill, list, memory.data(), pattern, bad,
                       768 + 64);
    if (direct) // the validation layer of loader 1.32 divides by it
        REFUSED_APPEND(INVALID_SIZE, zeCommandListAppendMemoryFill, list, memory.data(), pattern, 0, 1);
}

static void regions(ze_command_list_handle_t list) {
    const uint32_t pitch = 16, rows = 8, slices = 3;
    std::vector<uint8_t> from(pitch * rows * slices), to(pitch * rows * slices, 0);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = uint8_t(i);
    const ze_copy_region_t source{2, 1, 1, 5, 3, 2}, target{4, 2, 0, 5, 3, 2};
    append(ze.zeCommandListAppendMemoryCopyRegion, list, to.data(), &target, pitch, pitch * rows, from.data(),
           &source, pitch, pitch * rows);
    finish(list);
    for (uint32_t z = 0; z < slices; z++)
        for (uint32_t y = 0; y < rows; y++)
            for (uint32_t x = 0; x < pitch; x++) {
                const bool inside = z < 2 && y >= 2 && y < 5 && x >= 4 && x < 9;
                const uint8_t expected = inside ? from[(z + 1) * pitch * rows + (y - 1) * pitch + x - 2] : 0;
                CHECK(to[z * pitch * rows + y * pitch + x] == expected);
            }
    for (uint32_t ze_copy_region_t::*extent :
         {&ze_copy_region_t::width, &ze_copy_region_t::height, &ze_copy_region_t::depth}) {
        ze_copy_region_t smaller = target;
        smaller.*extent -= 1;
        REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendMemoryCopyRegion, list, to.data(), &smaller,
                       pitch, pitch * rows, from.data(), &source, pitch, pitch * rows);
    }
}

static void ordering(ze_command_queue_mode_t mode) {
    auto list = immediate_list(mode);
    const auto kernel = make_kernel("add_one");
    const auto a = shared<int>(64 * 4);
    set_arg(kernel, 0, a);
    const int zero = 0;
    append(ze.zeCommandListAppendMemoryFill, list, a, &zero, 4, 256);
    std::vector<int> seen(64 * 50);
    for (int i = 0; i < 50; i++) {
        launch(list, kernel, 2, 32);
        append(ze.zeCommandListAppendBarrier, list);
        append(ze.zeCommandListAppendMemoryCopy, list, &seen[size_t(i) * 64], a, 256);
    }
    if (mode != ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        finish(list);
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 64; j++)
            CHECK(seen[size_t(i * 64 + j)] == i + 1);
    // An asynchronous list may be destroyed while it works: it finishes first.
    for (int i = 0; i < 10; i++)
        launch(list, kernel, 2, 32);
    list.end();
    CHECK(a[0] == 60);
}

static void timestamps(ze_command_list_handle_t list) {
    uint64_t stamps[3] = {};
    const uint64_t before = device_time();
    for (uint64_t &stamp : stamps)
        append(ze.zeCommandListAppendWriteGlobalTimestamp, list, &stamp);
    finish(list);
    CHECK(before <= stamps[0] && stamps[0] <= stamps[1] && stamps[1] <= stamps[2] &&
          stamps[2] <= device_time());
}

static void timeouts(ze_command_list_handle_t list) {
    spin(list, 100000000);
    NOT_READY(ze.zeCommandListHostSynchronize(list, 0));
    NOT_READY(ze.zeCommandListHostSynchronize(list, 1000000));
    OK(ze.zeCommandListHostSynchronize(list, UINT64_MAX - 1));
    OK(ze.zeCommandListHostSynchronize(list, 0));
}

static void regular(ze_command_queue_mode_t mode) {
    const auto queue = make_queue(mode);
    const auto list = regular_list(), second = regular_list();
    const auto kernel = make_kernel("scale");
    const auto a = shared<int>(400), b = shared<int>(400);
    for (int i = 0; i < 100; i++)
        a[i] = i;
    set_args(kernel, a, b, 2);
    launch(list, kernel, 10, 10);
    set_arg(kernel, 0, b); // must not reach what is recorded
    set_arg(kernel, 1, a);
    set_arg(kernel, 2, 5);
    REFUSED(INVALID_ARGUMENT, ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    OK(ze.zeCommandListClose(list));
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendBarrier, list);
    launch(second, kernel, 10, 10);
    OK(ze.zeCommandListClose(second));
    ze_command_list_handle_t both[] = {list, second};
    ze_fence_desc_t fence_desc{ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    auto fence = made(ze.zeFenceCreate, queue, &fence_desc);
    NOT_READY(ze.zeFenceQueryStatus(fence));
    NOT_READY(ze.zeFenceHostSynchronize(fence, 1000));
    OK(ze.zeCommandQueueExecuteCommandLists(queue, 2, both, fence));
    OK(ze.zeFenceHostSynchronize(fence, UINT64_MAX));
    OK(ze.zeFenceQueryStatus(fence));
    for (int i = 0; i < 100; i++)
        CHECK(b[i] == 2 * i && a[i] == 10 * i);
    OK(ze.zeFenceReset(fence));
    NOT_READY(ze.zeFenceQueryStatus(fence));
    OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, fence)); // a list may run again and again
    OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
    OK(ze.zeFenceQueryStatus(fence));
    CHECK(b[99] == 2 * 990);
    fence_desc.flags = ZE_FENCE_FLAG_SIGNALED;
    fence = made(ze.zeFenceCreate, queue, &fence_desc);
    OK(ze.zeFenceQueryStatus(fence));
    fence_desc.flags = 2;
    REFUSED(INVALID_ENUMERATION, ze.zeFenceCreate(queue, &fence_desc, &fence));
    // An immediate list takes both.
    const auto immediate = immediate_list();
    append(ze.zeCommandListImmediateAppendCommandListsExp, immediate, 2, both);
    finish(immediate);
    CHECK(a[99] == 10 * 990);
    OK(ze.zeCommandListReset(list));
    const int one = 1;
    append(ze.zeCommandListAppendMemoryFill, list, b, &one, 4, 400);
    OK(ze.zeCommandListClose(list));
    OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(b[5] == 1);
}

// A synchronous list of high priority runs launches of one work-group on the thread that appends them, unless
// they have to wait.
TEST(urgent) {
    auto desc = of_type<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    desc.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
    const auto list = made(ze.zeCommandListCreateImmediate, context, device, &desc);
    const auto pool = make_pool(2, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    const auto done = make_event(pool, 0), told = make_event(pool, 1);
    const auto kernel = make_kernel("add_one");
    const auto a = zeros<int>(256);
    set_arg(kernel, 0, a);
    for (int i = 0; i < 50; i++) {
        launch(list, kernel, i % 2 ? 1 : 2, i % 2 ? 64 : 32);
        CHECK(a[0] == i + 1 && a[63] == i + 1);
    }
    const uint64_t before = device_time();
    launch(list, kernel, 1, 64, done);
    OK(ze.zeEventQueryStatus(done));
    const auto stamp = got(ze.zeEventQueryKernelTimestamp, done).global;
    CHECK(before <= stamp.kernelStart && stamp.kernelStart <= stamp.kernelEnd &&
          stamp.kernelEnd <= device_time());
    std::thread teller([&] { OK(ze.zeEventHostSignal(told)); });
    launch(list, kernel, 1, 64, nullptr, {told});
    teller.join();
    CHECK(a[0] == 52 && a[63] == 52);

    std::fenv_t usual;
    std::fegetenv(&usual);
    std::fesetround(FE_UPWARD);
    launch(list, kernel, 1, 64);
    CHECK(std::fegetround() == FE_UPWARD); // the thread has its own back
    std::fesetenv(&usual);
}

TEST(modes) {
    for (auto mode : {ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS}) {
        const auto list = immediate_list(mode);
        copies(list);
        fills(list);
        regions(list);
        timestamps(list);
        if (mode == ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
            timeouts(list);
        ordering(mode);
        regular(mode);
    }
}

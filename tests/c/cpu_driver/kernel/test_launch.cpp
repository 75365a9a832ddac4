// SPDX-License-Identifier: Apache-2.0
// Launches of several kernels whose group counts are in memory. Cooperative launches, and launches that bring
// their arguments along.
#include <chrono>
#include <thread>

#include "ze_test.h"

/// Launches several kernels. Their number and their group counts are in memory that is written
/// after the append.
TEST(several_kernels) {
    Owned<ze_kernel_handle_t> kernels[3];
    const auto counts = shared<int>(3 * sizeof(int));
    const auto groups = shared<ze_group_count_t>(3 * sizeof(ze_group_count_t));
    const auto number = shared<uint32_t>(sizeof(uint32_t));
    for (uint32_t i = 0; i < 3; i++) {
        kernels[i] = make_kernel("count_items", loaded("launches.spv"));
        set_arg(kernels[i], 0, counts + i);
        OK(ze.zeKernelSetGroupSize(kernels[i], 4, 1, 1));
    }
    const auto go = make_event(), done = make_event();
    for (uint32_t launched : {0u, 1u, 2u, 3u, 7u}) { // more than there are: all
        std::memset(counts, 0, 3 * sizeof(int));
        *number = 99;
        OK(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(list, 3, &kernels[0], number, groups, done, 1,
                                                               &go));
        *number = launched;
        for (uint32_t i = 0; i < 3; i++)
            groups[i] = {i + 1, 2, 1};
        OK(ze.zeEventHostSignal(go));
        OK(ze.zeEventHostSynchronize(done, UINT64_MAX));
        finish(list);
        for (uint32_t i = 0; i < 3; i++)
            CHECK(counts[i] == (i < launched ? int(i + 1) * 2 * 4 : 0));
        OK(ze.zeEventHostReset(go));
        OK(ze.zeEventHostReset(done));
    }
    REFUSED_APPEND(INVALID_NULL_POINTER, zeCommandListAppendLaunchMultipleKernelsIndirect, list, 3,
                   &kernels[0], nullptr, groups);
    REFUSED_APPEND(INVALID_NULL_POINTER, zeCommandListAppendLaunchMultipleKernelsIndirect, list, 3,
                   &kernels[0], number, nullptr);
}

/// All work-groups of a cooperative launch have to run at once. The OpenCL runtime promises that of one only.
TEST(cooperative) {
    uint32_t count = 1;
    const auto group = filled(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
                              ze.zeDeviceGetCommandQueueGroupProperties, device, &count);
    CHECK(group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS);
    const auto kernel = make_kernel("count_items", loaded("launches.spv"));
    const auto items = shared<int>(sizeof(int));
    *items = 0;
    set_arg(kernel, 0, items);
    OK(ze.zeKernelSetGroupSize(kernel, 32, 2, 1));
    auto most = got(ze.zeKernelSuggestMaxCooperativeGroupCount, kernel);
    CHECK(most == 1);
    const ze_group_count_t one{1, 1, 1}, two{1, 1, 2};
    append(ze.zeCommandListAppendLaunchCooperativeKernel, list, kernel, &one);
    REFUSED_APPEND(INVALID_ARGUMENT, zeCommandListAppendLaunchCooperativeKernel, list, kernel, &two);
    finish(list);
    CHECK(*items == 64);
}

TEST(with_arguments) {
    const auto with_parameters = ze.zeCommandListAppendLaunchKernelWithParameters;
    const auto with_arguments = ze.zeCommandListAppendLaunchKernelWithArguments;
    const auto kernel = make_kernel("sizes", loaded("launches.spv"));
    const auto out = shared<uint64_t>(5 * sizeof(uint64_t));
    uint64_t wide = 11;
    int vector[4] = {1, 2, 3, 4}, pointee = 5, *pointer = &pointee;
    float three[4] = {1, 2, 3, 0};
    struct {
        int64_t a;
        char b;
    } tail{100, 1};
    size_t local = 64;
    void *arguments[] = {&wide, vector, three, &tail, &pointer, &local, &out};
    OK(with_arguments(list, kernel, {1, 1, 1}, {2, 1, 1}, arguments, nullptr, nullptr, 0, nullptr));
    finish(list);
    CHECK(out[0] == 11 && out[1] == 4321 && out[2] == 6 && out[3] == 101 && out[4] == 5);
    REFUSED(INVALID_NULL_POINTER,
            with_arguments(list, kernel, {1, 1, 1}, {2, 1, 1}, nullptr, nullptr, nullptr, 0, nullptr));
    REFUSED(INVALID_GROUP_SIZE_DIMENSION,
            with_arguments(list, kernel, {1, 1, 1}, {0, 1, 1}, arguments, nullptr, nullptr, 0, nullptr));
    ze_cpu::CooperativeDesc together{ze_cpu::structure_type_cooperative, nullptr, 1};
    const ze_base_desc_t unknown{ze_structure_type_t(0x7ffffff0), nullptr};
    const ze_group_count_t one{1, 1, 1}, two{2, 1, 1};
    out[0] = 0;
    OK(with_parameters(list, kernel, &one, &together, nullptr, 0, nullptr));
    finish(list);
    CHECK(out[0] == 11);
    REFUSED(INVALID_ARGUMENT, with_parameters(list, kernel, &two, &together, nullptr, 0, nullptr));
    together.isCooperative = 0;
    OK(with_parameters(list, kernel, &two, &together, nullptr, 0, nullptr));
    REFUSED(UNSUPPORTED_FEATURE, with_parameters(list, kernel, &one, &unknown, nullptr, 0, nullptr));
    REFUSED(INVALID_NULL_POINTER, with_parameters(list, kernel, nullptr, nullptr, nullptr, 0, nullptr));
    wide = 99; // a refused launch does not change the kernel's arguments
    REFUSED(UNSUPPORTED_FEATURE,
            with_arguments(list, kernel, one, {2, 1, 1}, arguments, &unknown, nullptr, 0, nullptr));
    OK(with_parameters(list, kernel, &one, nullptr, nullptr, 0, nullptr));
    finish(list);
    CHECK(out[0] == 11);
}

Owned<ze_command_list_handle_t> urgent_list() {
    auto desc = of_type<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    desc.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
    return made(ze.zeCommandListCreateImmediate, context, device, &desc);
}

/// Group functions compute each work-group once, whatever the grid. Of several threads of the program one at
/// a time has the helpers; large launches of the others go another way, where the kernel counts in thousands.
TEST(group_functions) {
    constexpr uint32_t sides[][3] = {{1, 1, 1}, {7, 1, 1}, {1, 5, 3}, {3, 2, 4}, {1000, 3, 1}, {2, 1, 777}};
    const auto in_grids = [&](bool is_alone) {
        const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
        const auto urgent = urgent_list();
        OK(ze.zeKernelSetGroupSize(kernel, 1, 1, 1));
        for (const auto &[x, y, z] : sides) {
            const size_t count = size_t(x) * y * z;
            const auto counts = zeros<int>(count * sizeof(int));
            const ze_group_count_t groups{x, y, z};
            set_arg(kernel, 0, counts);
            set_arg(kernel, 1, int(x));
            set_arg(kernel, 2, int(y));
            for (int times = 1; times <= 20; times++) {
                OK(ze.zeCommandListAppendLaunchKernel(urgent, kernel, &groups, nullptr, 0, nullptr));
                for (size_t i = 0; i < count; i++)
                    CHECK(is_alone ? counts[i] == times : counts[i] % 1000 + counts[i] / 1000 == times);
            }
        }
    };
    in_grids(true);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(in_grids, false);
    for (std::thread &thread : threads)
        thread.join();
}

/// Helpers that are late for one launch take nothing of the next, which has another number of parts.
TEST(launches_in_turns) {
    constexpr uint32_t sizes[] = {2, 40, 3, 1000};
    const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
    const auto urgent = urgent_list();
    const auto counts = zeros<int>(1000 * sizeof(int));
    set_arg(kernel, 0, counts);
    set_arg(kernel, 1, 1000);
    set_arg(kernel, 2, 1);
    for (int times = 1; times <= 10000; times++)
        for (uint32_t size : sizes)
            launch(urgent, kernel, size, 1);
    for (int i = 0; i < 1000; i++)
        CHECK(counts[i] == 10000 * (1 + (i < 2) + (i < 3) + (i < 40)));
}

/// Prefetches read any address ahead, also of memory that is not there any more, and more often than is
/// heeded.
TEST(prefetches) {
    constexpr int launches = 200;
    const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
    const auto urgent = urgent_list();
    const auto counts = zeros<int>(64 * sizeof(int));
    set_arg(kernel, 0, counts);
    set_arg(kernel, 1, 64);
    set_arg(kernel, 2, 1);
    const auto anywhere = reinterpret_cast<const void *>(uintptr_t(4096));
    for (int times = 1; times <= launches; times++) {
        launch(urgent, kernel, 64, 1);
        for (size_t size : {size_t(1), size_t(100'000), SIZE_MAX})
            for (const void *at : {static_cast<const void *>(&counts[0]), anywhere})
                OK(ze.zeCommandListAppendMemoryPrefetch(urgent, at, size));
        REFUSED(INVALID_NULL_POINTER, ze.zeCommandListAppendMemoryPrefetch(urgent, nullptr, 1));
        if (times % 20 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(200)); // for the helpers
    }
    for (int i = 0; i < 64; i++)
        CHECK(counts[i] == launches);
}

/// Events of group functions are set on return, have the times of the launch, and start what waits for them.
TEST(events_of_group_functions) {
    const auto counts = zeros<int>(64 * sizeof(int));
    const auto urgent = urgent_list(), waiting = immediate_list();
    const auto pool = make_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    const auto done = make_event(pool, 0);
    const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
    set_arg(kernel, 0, counts);
    set_arg(kernel, 1, 64);
    set_arg(kernel, 2, 1);
    OK(ze.zeCommandListAppendWaitOnEvents(waiting, 1, &done));
    launch(waiting, kernel, 2, 1);
    CHECK(counts[0] == 0);
    const uint64_t before = device_time();
    launch(urgent, kernel, 64, 1, done);
    const uint64_t later = device_time();
    ze_kernel_timestamp_result_t times{};
    OK(ze.zeEventQueryStatus(done));
    OK(ze.zeEventQueryKernelTimestamp(done, &times));
    CHECK(times.global.kernelStart >= before && times.global.kernelStart < times.global.kernelEnd &&
          times.global.kernelEnd <= later);
    finish(waiting);
    CHECK(counts[63] == 1 && counts[0] == 1001);
}

/// A list computes with the threads that the program lends it: here by calls one after the other.
TEST(lent_threads) {
    struct Lent {
        int threads, calls;
    } lent{3, 0};
    struct Functions {
        int (*get_num_threads)(void *);
        void (*parallel_for)(void *, int, void (*)(int, int, void *), void *);
        void *pool;
    } functions{[](void *pool) { return static_cast<Lent *>(pool)->threads; },
                [](void *pool, int n, void (*work)(int, int, void *), void *argument) {
                    CHECK(n == static_cast<Lent *>(pool)->threads);
                    for (int i = 0; i < n; i++, static_cast<Lent *>(pool)->calls++)
                        work(i, n, argument);
                },
                &lent};
    void (*lend)(const Functions *) = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeCpuSetThreadpool",
                                              reinterpret_cast<void **>(&lend)));
    lend(&functions);
    auto desc = of_type<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    ze_command_list_handle_t refused = nullptr;
    REFUSED(INVALID_ARGUMENT, ze.zeCommandListCreateImmediate(context, device, &desc, &refused));
    lend(&functions);
    const auto own = urgent_list(), other = urgent_list();
    functions.parallel_for = nullptr; // the list has a copy
    const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
    const auto counts = zeros<int>(1000 * sizeof(int));
    set_arg(kernel, 0, counts);
    set_arg(kernel, 1, 1000);
    set_arg(kernel, 2, 1);
    launch(own, kernel, 1000, 1);
    CHECK(lent.calls == 3);
    for (int times = 2; times <= 10; times++)
        launch(own, kernel, 1000, 1);
    const int calls = lent.calls;
    launch(other, kernel, 1000, 1); // without them
    CHECK(lent.calls == calls);
    for (int i = 0; i < 1000; i++)
        CHECK(counts[i] == 11);
}

/// The kernel itself runs on other lists, in larger work-groups, from an offset on, and where the function
/// asks for its work-item or has other parameters.
TEST(no_group_functions) {
    const auto counts = zeros<int>(64 * sizeof(int));
    const auto urgent = urgent_list();
    const auto kernel = make_kernel("count_groups", loaded("launches.spv"));
    set_arg(kernel, 0, counts);
    set_arg(kernel, 1, 64);
    set_arg(kernel, 2, 1);
    launch(list, kernel, 2, 1);
    finish(list);
    CHECK(counts[0] == 1000 && counts[1] == 1000);
    launch(urgent, kernel, 2, 2);
    CHECK(counts[0] == 3000 && counts[1] == 3000);
    OK(ze.zeKernelSetGlobalOffsetExp(kernel, 5, 0, 0));
    launch(urgent, kernel, 2, 1);
    CHECK(counts[0] == 4000 && counts[1] == 4000);
    for (const char *name : {"ask", "wrong"}) {
        const auto other = make_kernel(name, loaded("launches.spv"));
        set_arg(other, 0, counts);
        launch(urgent, other, 3, 1);
        for (int i = 0; i < 3; i++)
            CHECK(counts[i] == 1000);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Launches whose group counts are in memory: one list on two queues, several kernels at once.
#include <thread>

#include "ze_test.h"

static ze_module_handle_t module;

static ze_command_list_handle_t regular_list() {
    ze_command_list_desc_t desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    ze_command_list_handle_t list = nullptr;
    OK(ze.zeCommandListCreate(context, device, &desc, &list));
    return list;
}

static ze_command_queue_handle_t make_queue() {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_queue_handle_t queue = nullptr;
    OK(ze.zeCommandQueueCreate(context, device, &desc, &queue));
    return queue;
}

/// One closed list runs on two queues at once, twice with different counts in memory. What an execution reads
/// is its own: with a thread sanitizer this is where state that executions share would show.
static void two_queues() {
    ze_kernel_handle_t kernel = make_kernel(module, "count_shapes");
    auto *seen = static_cast<int *>(shared(256 * sizeof(int)));
    std::memset(seen, 0, 256 * sizeof(int));
    auto *groups = static_cast<ze_group_count_t *>(shared(sizeof(ze_group_count_t)));
    set_arg(kernel, 0, seen);
    OK(ze.zeKernelSetGroupSize(kernel, 1, 1, 1));
    ze_command_list_handle_t list = regular_list();
    OK(ze.zeCommandListAppendLaunchKernelIndirect(list, kernel, groups, nullptr, 0, nullptr));
    OK(ze.zeCommandListClose(list));
    const int rounds = 300;
    auto execute = [&] {
        ze_command_queue_handle_t queue = make_queue();
        for (int i = 0; i < rounds; i++)
            OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
        OK(ze.zeCommandQueueDestroy(queue));
    };
    for (ze_group_count_t count : {ze_group_count_t{1, 8, 1}, ze_group_count_t{8, 3, 1}}) {
        *groups = count;
        std::thread first(execute), second(execute);
        first.join();
        second.join();
    }
    for (int x = 0; x < 16; x++)
        for (int y = 0; y < 16; y++) {
            const int expected = x == 1 && y == 8 ? 8 : x == 8 && y == 3 ? 24 : 0;
            CHECK(seen[x * 16 + y] == 2 * rounds * expected);
        }
    OK(ze.zeCommandListDestroy(list));
    OK(ze.zeKernelDestroy(kernel));
    OK(ze.zeMemFree(context, seen));
    OK(ze.zeMemFree(context, groups));
}

/// Several kernels with their number and counts in memory that is written after the append.
static void several_kernels(ze_command_list_handle_t immediate) {
    ze_kernel_handle_t kernels[3];
    auto *counts = static_cast<int *>(shared(3 * sizeof(int)));
    auto *groups = static_cast<ze_group_count_t *>(shared(3 * sizeof(ze_group_count_t)));
    auto *number = static_cast<uint32_t *>(shared(sizeof(uint32_t)));
    for (uint32_t i = 0; i < 3; i++) {
        kernels[i] = make_kernel(module, "count_items");
        set_arg(kernels[i], 0, counts + i);
        OK(ze.zeKernelSetGroupSize(kernels[i], 4, 1, 1));
    }
    ze_event_pool_handle_t pool = make_pool(2);
    ze_event_handle_t go = make_event(pool, 0), done = make_event(pool, 1);
    for (uint32_t launched : {0u, 1u, 2u, 3u, 7u}) { // more than there are: all
        std::memset(counts, 0, 3 * sizeof(int));
        *number = 99;
        OK(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, kernels, number, groups, done, 1,
                                                               &go));
        *number = launched;
        for (uint32_t i = 0; i < 3; i++)
            groups[i] = {i + 1, 2, 1};
        OK(ze.zeEventHostSignal(go));
        OK(ze.zeEventHostSynchronize(done, UINT64_MAX));
        finish(immediate);
        for (uint32_t i = 0; i < 3; i++)
            CHECK(counts[i] == (i < launched ? int(i + 1) * 2 * 4 : 0));
        OK(ze.zeEventHostReset(go));
        OK(ze.zeEventHostReset(done));
    }
    const auto null_pointer = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    CHECK_RESULT(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, kernels, nullptr, groups,
                                                                     nullptr, 0, nullptr),
                 null_pointer);
    CHECK_RESULT(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, kernels, number, nullptr,
                                                                     nullptr, 0, nullptr),
                 null_pointer);
    OK(ze.zeEventDestroy(go));
    OK(ze.zeEventDestroy(done));
    OK(ze.zeEventPoolDestroy(pool));
    for (ze_kernel_handle_t kernel : kernels)
        OK(ze.zeKernelDestroy(kernel));
    OK(ze.zeMemFree(context, counts));
    OK(ze.zeMemFree(context, groups));
    OK(ze.zeMemFree(context, number));
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("launches.spv");
    two_queues();
    ze_command_list_handle_t list = immediate_list();
    several_kernels(list);
    OK(ze.zeCommandListDestroy(list));
    std::puts("ok");
}

// SPDX-License-Identifier: Apache-2.0
//
// Launches whose group counts are in memory: one list on two queues, and several kernels at once.
// Cooperative launches, and launches that bring their arguments along.
#include <thread>

#include "ze_test.h"

static ze_module_handle_t module;

/// One closed list runs on two queues at once, twice, with different group counts in memory. The
/// thread sanitizer would report state that executions share.
static void two_queues() {
    const auto kernel = make_kernel(module, "count_shapes");
    const auto seen = shared<int>(256 * sizeof(int));
    std::memset(seen, 0, 256 * sizeof(int));
    const auto groups = shared<ze_group_count_t>(sizeof(ze_group_count_t));
    set_arg(kernel, 0, seen);
    OK(ze.zeKernelSetGroupSize(kernel, 1, 1, 1));
    const auto list = regular_list();
    OK(ze.zeCommandListAppendLaunchKernelIndirect(list, kernel, groups, nullptr, 0, nullptr));
    OK(ze.zeCommandListClose(list));
    const int rounds = 300;
    auto execute = [&] {
        const auto queue = make_queue();
        for (int i = 0; i < rounds; i++)
            OK(ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
        OK(ze.zeCommandQueueSynchronize(queue, UINT64_MAX));
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
}

/// Launches several kernels. Their number and their group counts are in memory that is written
/// after the append.
static void several_kernels(ze_command_list_handle_t immediate) {
    Owned<ze_kernel_handle_t> kernels[3];
    const auto counts = shared<int>(3 * sizeof(int));
    const auto groups = shared<ze_group_count_t>(3 * sizeof(ze_group_count_t));
    const auto number = shared<uint32_t>(sizeof(uint32_t));
    for (uint32_t i = 0; i < 3; i++) {
        kernels[i] = make_kernel(module, "count_items");
        set_arg(kernels[i], 0, counts + i);
        OK(ze.zeKernelSetGroupSize(kernels[i], 4, 1, 1));
    }
    const auto pool = make_pool(2);
    const auto go = make_event(pool, 0), done = make_event(pool, 1);
    for (uint32_t launched : {0u, 1u, 2u, 3u, 7u}) { // more than there are: all
        std::memset(counts, 0, 3 * sizeof(int));
        *number = 99;
        OK(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, &kernels[0], number, groups,
                                                               done, 1, &go));
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
    CHECK_RESULT(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, &kernels[0], nullptr,
                                                                     groups, nullptr, 0, nullptr),
                 null_pointer);
    CHECK_RESULT(ze.zeCommandListAppendLaunchMultipleKernelsIndirect(immediate, 3, &kernels[0], number,
                                                                     nullptr, nullptr, 0, nullptr),
                 null_pointer);
}

/// All work-groups of a cooperative launch have to run at once. The OpenCL runtime promises that of
/// one only.
static void cooperative(ze_command_list_handle_t list) {
    uint32_t count = 1;
    ze_command_queue_group_properties_t group{};
    group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    OK(ze.zeDeviceGetCommandQueueGroupProperties(device, &count, &group));
    CHECK(group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS);
    const auto kernel = make_kernel(module, "count_items");
    const auto items = shared<int>(sizeof(int));
    *items = 0;
    set_arg(kernel, 0, items);
    OK(ze.zeKernelSetGroupSize(kernel, 32, 2, 1));
    uint32_t most = 0;
    OK(ze.zeKernelSuggestMaxCooperativeGroupCount(kernel, &most));
    CHECK(most == 1);
    const ze_group_count_t one{1, 1, 1}, two{1, 1, 2};
    OK(ze.zeCommandListAppendLaunchCooperativeKernel(list, kernel, &one, nullptr, 0, nullptr));
    CHECK_RESULT(ze.zeCommandListAppendLaunchCooperativeKernel(list, kernel, &two, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_INVALID_ARGUMENT);
    finish(list);
    CHECK(*items == 64);
}

struct GroupSize { // ze_group_size_t, of newer headers
    uint32_t x, y, z;
};
struct Parameter { // ze_command_list_append_launch_kernel_param_cooperative_desc_t
    uint32_t stype;
    const void *next;
    uint8_t value;
};

template <class F> static F newer(const char *name) {
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, name, &address));
    return reinterpret_cast<F>(address);
}

static void with_arguments(ze_command_list_handle_t list) {
    using Handle = ze_event_handle_t;
    auto with_parameters =
        newer<ze_result_t (*)(ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *,
                              const void *, Handle, uint32_t, Handle *)>(
            "zeCommandListAppendLaunchKernelWithParameters");
    auto with_arguments =
        newer<ze_result_t (*)(ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t, GroupSize,
                              void **, const void *, Handle, uint32_t, Handle *)>(
            "zeCommandListAppendLaunchKernelWithArguments");
    const auto kernel = make_kernel(module, "sizes");
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
    const auto null_pointer = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    CHECK_RESULT(with_arguments(list, kernel, {1, 1, 1}, {2, 1, 1}, nullptr, nullptr, nullptr, 0, nullptr),
                 null_pointer);
    CHECK_RESULT(with_arguments(list, kernel, {1, 1, 1}, {0, 1, 1}, arguments, nullptr, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    Parameter together{0x00020036, nullptr, 1}, unknown{0x7ffffff0, nullptr, 1};
    const ze_group_count_t one{1, 1, 1}, two{2, 1, 1};
    out[0] = 0;
    OK(with_parameters(list, kernel, &one, &together, nullptr, 0, nullptr));
    finish(list);
    CHECK(out[0] == 11);
    CHECK_RESULT(with_parameters(list, kernel, &two, &together, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_INVALID_ARGUMENT);
    together.value = 0;
    OK(with_parameters(list, kernel, &two, &together, nullptr, 0, nullptr));
    CHECK_RESULT(with_parameters(list, kernel, &one, &unknown, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    CHECK_RESULT(with_parameters(list, kernel, nullptr, nullptr, nullptr, 0, nullptr), null_pointer);
    wide = 99; // a refused launch does not change the kernel's arguments
    CHECK_RESULT(with_arguments(list, kernel, one, {2, 1, 1}, arguments, &unknown, nullptr, 0, nullptr),
                 ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    OK(with_parameters(list, kernel, &one, nullptr, nullptr, 0, nullptr));
    finish(list);
    CHECK(out[0] == 11);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("launches.spv").release();
    two_queues();
    auto list = immediate_list();
    several_kernels(list);
    cooperative(list);
    with_arguments(list);
    list.end();
    std::puts("ok");
}

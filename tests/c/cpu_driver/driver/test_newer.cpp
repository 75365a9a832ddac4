// SPDX-License-Identifier: Apache-2.0
// Functions of Level Zero 1.9 to 1.18: what lists, queues and kernels were created with, appends with
// parameters, host functions, the driver's own context.
#include "ze_test.h"

static ze_command_queue_desc_t queue_desc(uint32_t flags, ze_command_queue_mode_t mode,
                                          ze_command_queue_priority_t priority) {
    auto desc = of_type<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.flags = flags;
    desc.mode = mode;
    desc.priority = priority;
    return desc;
}

TEST(queue_properties) {
    const auto desc = queue_desc(ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                                 ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
    const auto queue = made(ze.zeCommandQueueCreate, context, device, &desc);
    CHECK(got(ze.zeCommandQueueGetOrdinal, queue) == 0 && got(ze.zeCommandQueueGetIndex, queue) == 0);
    CHECK(got(ze.zeCommandQueueGetFlags, queue) == desc.flags);
    CHECK(got(ze.zeCommandQueueGetMode, queue) == desc.mode);
    CHECK(got(ze.zeCommandQueueGetPriority, queue) == desc.priority);
}

TEST(list_properties) {
    const auto desc = queue_desc(ze_cpu::queue_flag_in_order | ze_cpu::queue_flag_copy_offload,
                                 ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
    const ze_command_list_desc_t regular_desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0,
                                              ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING};
    const auto immediate = made(ze.zeCommandListCreateImmediate, context, device, &desc),
               regular = made(ze.zeCommandListCreate, context, device, &regular_desc);
    CHECK(got(ze.zeCommandListGetOrdinal, immediate) == 0);
    CHECK(got(ze.zeCommandListImmediateGetIndex, immediate) == 0);
    CHECK(got(ze.zeCommandListImmediateGetFlags, immediate) == desc.flags);
    CHECK(got(ze.zeCommandListImmediateGetMode, immediate) == desc.mode);
    CHECK(got(ze.zeCommandListImmediateGetPriority, immediate) == desc.priority);
    // Its queue's flags, as those of a list.
    CHECK(got(ze.zeCommandListGetFlags, immediate) ==
          (ze_cpu::list_flag_in_order | ze_cpu::list_flag_copy_offload));
    CHECK(got(ze.zeCommandListGetFlags, regular) == ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING);
    uint32_t number = 0;
    auto mode = desc.mode;
    auto priority = desc.priority;
    REFUSED(INVALID_ARGUMENT, ze.zeCommandListImmediateGetIndex(regular, &number));
    REFUSED(INVALID_ARGUMENT, ze.zeCommandListImmediateGetFlags(regular, &number));
    REFUSED(INVALID_ARGUMENT, ze.zeCommandListImmediateGetMode(regular, &mode));
    REFUSED(INVALID_ARGUMENT, ze.zeCommandListImmediateGetPriority(regular, &priority));
    CHECK(!got(ze.zeCommandListIsMutableExp, regular));
}

/// They do what the older functions do, and refuse extensions that they do not know.
TEST(with_parameters) {
    const ze_base_desc_t unknown{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr};
    const auto list = immediate_list();
    const auto regular = regular_list();
    int from = 41, to[4] = {};
    const int pattern = 3;
    append(ze.zeCommandListAppendMemoryCopyWithParameters, list, &to[0], &from, 4, nullptr);
    append(ze.zeCommandListAppendMemoryFillWithParameters, list, &to[1], &pattern, 4, 8, nullptr);
    append(ze.zeCommandListAppendMemoryCopyWithParameters, regular, &to[3], &to[0], 4, nullptr);
    OK(ze.zeCommandListClose(regular));
    append(ze.zeCommandListImmediateAppendCommandListsWithParameters, list, 1, &regular, nullptr);
    finish(list);
    CHECK(to[0] == 41 && to[1] == 3 && to[2] == 3 && to[3] == 41);
    REFUSED_APPEND(UNSUPPORTED_FEATURE, zeCommandListAppendMemoryCopyWithParameters, list, to, &from, 4,
                   &unknown);
    REFUSED_APPEND(UNSUPPORTED_FEATURE, zeCommandListAppendMemoryFillWithParameters, list, to, &pattern, 4, 8,
                   &unknown);
    REFUSED_APPEND(UNSUPPORTED_FEATURE, zeCommandListImmediateAppendCommandListsWithParameters, list, 1,
                   &regular, &unknown);
}

struct Counted {
    const int *from;
    int seen, calls;
};

/// A host function runs in its turn: after its wait events and what is before it, and before its own event.
TEST(host_function) {
    const auto gate = make_event(), end = make_event();
    const auto list = immediate_list();
    int from = 5, copy = 0;
    Counted counted{&copy, 0, 0};
    auto look = [](void *user) {
        auto *c = static_cast<Counted *>(user);
        c->seen = *c->from;
        c->calls++;
    };
    append(ze.zeCommandListAppendMemoryCopy, list, &copy, &from, 4);
    OK(ze.zeCommandListAppendHostFunction(list, look, &counted, nullptr, end, 1, &gate));
    append(ze.zeCommandListAppendMemoryFill, list, &copy, "\0", 1, 4);
    NOT_READY(ze.zeEventQueryStatus(end));
    OK(ze.zeEventHostSignal(gate));
    OK(ze.zeEventHostSynchronize(end, UINT64_MAX));
    CHECK(counted.calls == 1 && counted.seen == 5);
    finish(list);
    CHECK(copy == 0);
    if (direct)
        REFUSED_APPEND(INVALID_NULL_POINTER, zeCommandListAppendHostFunction, list, nullptr, nullptr,
                       nullptr);
    const ze_base_desc_t unknown{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr};
    REFUSED_APPEND(UNSUPPORTED_FEATURE, zeCommandListAppendHostFunction, list, look, &counted, &unknown);
}

/// The driver's own context serves as any other, and is not for the program to destroy.
TEST(default_context) {
    ze_context_handle_t own = ze.zeDriverGetDefaultContext(driver);
    CHECK(own && own != context && own == ze.zeDriverGetDefaultContext(driver));
    const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    OK(ze.zeMemFree(own, got(ze.zeMemAllocHost, own, &desc, 64, 0)));
    REFUSED(INVALID_ARGUMENT, ze.zeContextDestroy(own));
    OK(ze.zeContextGetStatus(own));
    if (!direct)
        return;
    CHECK(got(ze.zerGetLastErrorDescription));
    const uint32_t id = ze.zerTranslateDeviceHandleToIdentifier(device);
    CHECK(ze.zerTranslateIdentifierToDeviceHandle(id) == device);
    CHECK(ze.zerTranslateDeviceHandleToIdentifier(nullptr) == UINT32_MAX);
    CHECK(!ze.zerTranslateIdentifierToDeviceHandle(UINT32_MAX));
    CHECK(ze.zerGetDefaultContext() == own);
}

/// A kernel's module, and its device.
TEST(owners) {
    if (!direct)
        return;
    const auto kernel = make_kernel("add_one");
    ze_module_handle_t module = got(ze.zeKernelGetModuleHandle, kernel);
    ze_device_handle_t its_device = got(ze.zeModuleGetDeviceHandle, module);
    CHECK(module == loaded("kernels.spv") && its_device == device);
}

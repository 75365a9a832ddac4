// SPDX-License-Identifier: Apache-2.0
//
// Functions of Level Zero 1.9 to 1.18: what lists, queues and kernels were created with, appends with
// parameters, host functions, the driver's own context.
#include "newer_functions.h"

static NewerFunctions newer;

static const auto invalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;
static const auto unsupported = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;

static ze_command_queue_desc_t queue_desc(uint32_t flags, ze_command_queue_mode_t mode,
                                          ze_command_queue_priority_t priority) {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.flags = flags;
    desc.mode = mode;
    desc.priority = priority;
    return desc;
}

static void queue_properties() {
    const auto desc = queue_desc(ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                                 ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
    ze_command_queue_handle_t queue = nullptr;
    OK(ze.zeCommandQueueCreate(context, device, &desc, &queue));
    uint32_t ordinal = 7, index = 7, flags = 7;
    ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
    ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
    OK(newer.zeCommandQueueGetOrdinal(queue, &ordinal));
    OK(newer.zeCommandQueueGetIndex(queue, &index));
    OK(newer.zeCommandQueueGetFlags(queue, &flags));
    OK(newer.zeCommandQueueGetMode(queue, &mode));
    OK(newer.zeCommandQueueGetPriority(queue, &priority));
    CHECK(ordinal == 0 && index == 0 && flags == ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY);
    CHECK(mode == desc.mode && priority == desc.priority);
    CHECK_RESULT(newer.zeCommandQueueGetFlags(queue, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    if (direct)
        CHECK_RESULT(newer.zeCommandQueueGetFlags(nullptr, &flags), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    OK(ze.zeCommandQueueDestroy(queue));
}

static void list_properties() {
    const auto desc = queue_desc(1 << 1 | 1 << 2, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                                 ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
    const ze_command_list_desc_t regular_desc{ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0,
                                              ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING};
    ze_command_list_handle_t immediate = nullptr, regular = nullptr;
    OK(ze.zeCommandListCreateImmediate(context, device, &desc, &immediate));
    OK(ze.zeCommandListCreate(context, device, &regular_desc, &regular));
    uint32_t ordinal = 7, index = 7, flags = 7;
    ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
    ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
    OK(newer.zeCommandListGetOrdinal(immediate, &ordinal));
    OK(newer.zeCommandListImmediateGetIndex(immediate, &index));
    CHECK(ordinal == 0 && index == 0);
    OK(newer.zeCommandListImmediateGetFlags(immediate, &flags));
    CHECK(flags == desc.flags);
    OK(newer.zeCommandListImmediateGetMode(immediate, &mode));
    OK(newer.zeCommandListImmediateGetPriority(immediate, &priority));
    CHECK(mode == desc.mode && priority == desc.priority);
    OK(newer.zeCommandListGetFlags(immediate, &flags)); // its queue's flags, as those of a list
    CHECK(flags == (1 << 3 | 1 << 5));
    OK(newer.zeCommandListGetFlags(regular, &flags));
    CHECK(flags == ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING);
    CHECK_RESULT(newer.zeCommandListImmediateGetIndex(regular, &index), invalid);
    CHECK_RESULT(newer.zeCommandListImmediateGetFlags(regular, &flags), invalid);
    CHECK_RESULT(newer.zeCommandListImmediateGetMode(regular, &mode), invalid);
    CHECK_RESULT(newer.zeCommandListImmediateGetPriority(regular, &priority), invalid);
    ze_bool_t is_mutable = true;
    OK(newer.zeCommandListIsMutableExp(regular, &is_mutable));
    CHECK(!is_mutable);
    OK(ze.zeCommandListDestroy(immediate));
    OK(ze.zeCommandListDestroy(regular));
}

/// They do what the older functions do, and refuse extensions that they do not know.
static void with_parameters() {
    const ze_base_desc_t unknown{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr};
    const auto list = immediate_list();
    const auto regular = regular_list();
    int from = 41, to[4] = {};
    const int pattern = 3;
    OK(newer.zeCommandListAppendMemoryCopyWithParameters(list, &to[0], &from, 4, nullptr, nullptr, 0,
                                                         nullptr));
    OK(newer.zeCommandListAppendMemoryFillWithParameters(list, &to[1], &pattern, 4, 8, nullptr, nullptr, 0,
                                                         nullptr));
    OK(newer.zeCommandListAppendMemoryCopyWithParameters(regular, &to[3], &to[0], 4, nullptr, nullptr, 0,
                                                         nullptr));
    OK(ze.zeCommandListClose(regular));
    OK(newer.zeCommandListImmediateAppendCommandListsWithParameters(list, 1, &regular, nullptr, nullptr, 0,
                                                                    nullptr));
    finish(list);
    CHECK(to[0] == 41 && to[1] == 3 && to[2] == 3 && to[3] == 41);
    CHECK_RESULT(
        newer.zeCommandListAppendMemoryCopyWithParameters(list, to, &from, 4, &unknown, nullptr, 0, nullptr),
        unsupported);
    CHECK_RESULT(newer.zeCommandListAppendMemoryFillWithParameters(list, to, &pattern, 4, 8, &unknown,
                                                                   nullptr, 0, nullptr),
                 unsupported);
    CHECK_RESULT(newer.zeCommandListImmediateAppendCommandListsWithParameters(list, 1, &regular, &unknown,
                                                                              nullptr, 0, nullptr),
                 unsupported);
}

struct Counted {
    const int *from;
    int seen, calls;
};

/// A host function runs in its turn: after its wait events and what is before it, and before its
/// own event.
static void host_function() {
    const auto pool = make_pool(2);
    const auto gate = make_event(pool, 0), end = make_event(pool, 1);
    const auto list = immediate_list();
    int from = 5, copy = 0;
    Counted counted{&copy, 0, 0};
    auto look = [](void *user) {
        auto *c = static_cast<Counted *>(user);
        c->seen = *c->from;
        c->calls++;
    };
    OK(ze.zeCommandListAppendMemoryCopy(list, &copy, &from, 4, nullptr, 0, nullptr));
    OK(newer.zeCommandListAppendHostFunction(list, look, &counted, nullptr, end, 1, &gate));
    OK(ze.zeCommandListAppendMemoryFill(list, &copy, "\0", 1, 4, nullptr, 0, nullptr));
    CHECK_RESULT(ze.zeEventQueryStatus(end), ZE_RESULT_NOT_READY);
    OK(ze.zeEventHostSignal(gate));
    OK(ze.zeEventHostSynchronize(end, UINT64_MAX));
    CHECK(counted.calls == 1 && counted.seen == 5);
    finish(list);
    CHECK(copy == 0);
    if (direct)
        CHECK_RESULT(
            newer.zeCommandListAppendHostFunction(list, nullptr, nullptr, nullptr, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    const ze_base_desc_t unknown{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr};
    CHECK_RESULT(newer.zeCommandListAppendHostFunction(list, look, &counted, &unknown, nullptr, 0, nullptr),
                 unsupported);
}

/// The driver's own context serves as any other, and is not for the program to destroy.
static void default_context() {
    ze_context_handle_t own = newer.zeDriverGetDefaultContext(driver);
    CHECK(own && own != context && own == newer.zeDriverGetDefaultContext(driver));
    ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void *memory = nullptr;
    OK(ze.zeMemAllocHost(own, &desc, 64, 0, &memory));
    OK(ze.zeMemFree(own, memory));
    OK(ze.zeContextGetStatus(own));
    CHECK_RESULT(ze.zeContextDestroy(own), invalid);
    OK(ze.zeContextGetStatus(own));
    if (!direct)
        return;
    auto slot = [](unsigned index) { return newer_function("zer", "zerGetGlobalProcAddrTable", index); };
    const char *text = nullptr;
    OK(reinterpret_cast<ze_result_t (*)(const char **)>(slot(0))(&text));
    CHECK(text);
    auto to_id = reinterpret_cast<uint32_t (*)(ze_device_handle_t)>(slot(1));
    auto from_id = reinterpret_cast<ze_device_handle_t (*)(uint32_t)>(slot(2));
    CHECK(from_id(to_id(device)) == device && to_id(nullptr) == UINT32_MAX && !from_id(UINT32_MAX));
    CHECK(reinterpret_cast<ze_context_handle_t (*)()>(slot(3))() == own);
}

/// Of 1.18, which no loader at hand has: a kernel's module, and its device.
static void owners() {
    if (!direct)
        return;
    auto device_of = reinterpret_cast<ze_result_t (*)(ze_module_handle_t, ze_device_handle_t *)>(
        newer_function("zeModuleGetDeviceHandle", "zeGetModuleProcAddrTable", 9));
    auto module_of = reinterpret_cast<ze_result_t (*)(ze_kernel_handle_t, ze_module_handle_t *)>(
        newer_function("zeKernelGetModuleHandle", "zeGetKernelProcAddrTable", 12));
    const auto module = load_module("kernels.spv");
    uint32_t count = 1;
    const char *name = nullptr;
    OK(ze.zeModuleGetKernelNames(module, &count, &name));
    const auto kernel = make_kernel(module, name);
    ze_module_handle_t its_module = nullptr;
    ze_device_handle_t its_device = nullptr;
    OK(module_of(kernel, &its_module));
    OK(device_of(its_module, &its_device));
    CHECK(its_module == module && its_device == device);
    CHECK_RESULT(module_of(kernel, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    CHECK_RESULT(module_of(nullptr, &its_module), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    CHECK_RESULT(device_of(its_module, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    CHECK_RESULT(device_of(nullptr, &its_device), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    newer.take();
    queue_properties();
    list_properties();
    with_parameters();
    host_function();
    default_context();
    owners();
    OK(ze.zeContextDestroy(context));
    std::puts("ok");
}

// SPDX-License-Identifier: Apache-2.0
//
// The shortest way from nothing to the result of a kernel, properties, and contexts.
#include <algorithm>
#include <string_view>

#include "ze_test.h"

static void properties() {
    ze_device_properties_t p{};
    p.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    OK(ze.zeDeviceGetProperties(device, &p));
    CHECK(p.type == ZE_DEVICE_TYPE_CPU && p.name[0] && p.timerResolution == 1 && p.timestampValidBits == 64 &&
          p.kernelTimestampValidBits == 64 && p.maxMemAllocSize > 0);
    ze_device_properties_t p2{};
    p2.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    OK(ze.zeDeviceGetProperties(device, &p2));
    CHECK(p2.timerResolution == 1000000000);
    CHECK(std::memcmp(&p.uuid, &p2.uuid, sizeof p.uuid) == 0);

    ze_device_compute_properties_t c{};
    c.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
    OK(ze.zeDeviceGetComputeProperties(device, &c));
    CHECK(c.maxTotalGroupSize >= 64 && c.maxGroupSizeX >= 64 && c.maxSharedLocalMemory > 0 &&
          c.numSubGroupSizes > 0);
    ze_device_module_properties_t m{};
    m.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
    OK(ze.zeDeviceGetModuleProperties(device, &m));
    CHECK(m.spirvVersionSupported >= ZE_MAKE_VERSION(1, 2) && (m.flags & ZE_DEVICE_MODULE_FLAG_FP64) &&
          m.maxArgumentsSize >= 1024);
    ze_scheduling_hint_exp_properties_t hints{};
    hints.stype = ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES;
    hints.schedulingHintFlags = UINT32_MAX;
    m.pNext = &hints;
    OK(ze.zeDeviceGetModuleProperties(device, &m));
    CHECK(hints.schedulingHintFlags == 0); // they are accepted and have no effect
    ze_float_atomic_ext_properties_t atomics{};
    atomics.stype = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES;
    m.pNext = &atomics;
    OK(ze.zeDeviceGetModuleProperties(device, &m));
    const uint32_t everything = // tests/runtime/test_cpu_atomics.py runs these
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD |
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE |
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX;
    CHECK(atomics.fp16Flags == everything && atomics.fp32Flags == everything &&
          atomics.fp64Flags == everything);

    uint32_t count = 0;
    OK(ze.zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr));
    CHECK(count == 1);
    ze_command_queue_group_properties_t q{};
    q.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    count = 5;
    OK(ze.zeDeviceGetCommandQueueGroupProperties(device, &count, &q));
    CHECK(count == 1 && q.numQueues == 1 && q.maxMemoryFillPatternSize == 128 &&
          q.flags ==
              (ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
               ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS));
    ze_device_memory_properties_t mem{};
    mem.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    count = 1;
    OK(ze.zeDeviceGetMemoryProperties(device, &count, &mem));
    CHECK(mem.totalSize > 0);
    ze_device_memory_access_properties_t access{};
    access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
    OK(ze.zeDeviceGetMemoryAccessProperties(device, &access));
    CHECK(access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
    ze_device_cache_properties_t cache{};
    cache.stype = ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES;
    OK(ze.zeDeviceGetCacheProperties(device, &count, &cache));
    ze_device_external_memory_properties_t external{};
    external.stype = ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES;
    OK(ze.zeDeviceGetExternalMemoryProperties(device, &external));
    CHECK(external.memoryAllocationExportTypes == ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD);
    ze_device_p2p_properties_t p2p{};
    p2p.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES;
    OK(ze.zeDeviceGetP2PProperties(device, device, &p2p));
    ze_bool_t can = 0;
    OK(ze.zeDeviceCanAccessPeer(device, device, &can));
    CHECK(can);
    OK(ze.zeDeviceGetStatus(device));
    count = 9;
    OK(ze.zeDeviceGetSubDevices(device, &count, nullptr));
    CHECK(count == 0);
    uint64_t host = 0, dev = 0, dev2 = 0;
    OK(ze.zeDeviceGetGlobalTimestamps(device, &host, &dev));
    OK(ze.zeDeviceGetGlobalTimestamps(device, &host, &dev2));
    CHECK(dev > 0 && dev2 >= dev);
}

/// The function and the structure are of Level Zero 1.13; headers may be older.
static void vector_widths() {
    struct {
        ze_structure_type_t stype;
        void *next;
        uint32_t size, preferred[7], native[7]; // char, short, int, long, float, double, half
    } widths{ze_structure_type_t(0x20029), nullptr, 0, {}, {}};
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeDeviceGetVectorWidthPropertiesExt", &address));
    auto get = reinterpret_cast<ze_result_t (*)(ze_device_handle_t, uint32_t *, void *)>(address);
    uint32_t count = 0;
    OK(get(device, &count, nullptr));
    CHECK(count == 1);
    OK(get(device, &count, &widths));
    CHECK(widths.size > 0);
    for (int i = 0; i < 7; i++)
        CHECK(widths.preferred[i] > 0 && widths.native[i] > 0);
    CHECK(widths.native[0] == 4 * widths.native[2]); // bytes and ints in one register
}

static void driver_properties() {
    ze_api_version_t version{};
    OK(ze.zeDriverGetApiVersion(driver, &version));
    CHECK(version == ze_api_version_t(ZE_MAKE_VERSION(1, 18)));
    ze_driver_properties_t p{};
    p.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    OK(ze.zeDriverGetProperties(driver, &p));
    CHECK(p.driverVersion != 0);
    ze_driver_ipc_properties_t ipc{};
    ipc.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES;
    OK(ze.zeDriverGetIpcProperties(driver, &ipc));
    CHECK(ipc.flags == (ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL));
    uint32_t count = 0;
    OK(ze.zeDriverGetExtensionProperties(driver, &count, nullptr));
    std::vector<ze_driver_extension_properties_t> extensions(count);
    OK(ze.zeDriverGetExtensionProperties(driver, &count, extensions.data()));
    for (auto &e : extensions)
        CHECK(e.name[0] && e.version);
    for (std::string_view name : {"ZE_extension_float_atomics", "ZE_extension_image_query_alloc_properties",
                                  "ZE_experimental_image_memory_properties"})
        CHECK(std::ranges::count(extensions, name, &ze_driver_extension_properties_t::name) == 1);
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeEventCreate", &address));
    CHECK(address);
    CHECK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeNoSuchThing", &address) != ZE_RESULT_SUCCESS);
}

static void contexts() {
    OK(ze.zeContextGetStatus(context));
    OK(ze.zeContextSystemBarrier(context, device));
    ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ze_context_handle_t other = nullptr;
    OK(ze.zeContextCreateEx(driver, &desc, 1, &device, &other));
    const auto p = shared<int>(4096);
    OK(ze.zeContextMakeMemoryResident(other, device, p, 4096));
    OK(ze.zeContextEvictMemory(other, device, p, 4096));
    OK(ze.zeContextDestroy(other));
}

static void first_kernel() {
    const auto module = load_module("kernels.spv");
    const auto kernel = make_kernel(module, "scale");
    const auto list = immediate_list();
    const int n = 1000;
    const auto a = shared<int>(n * sizeof(int)), b = shared<int>(n * sizeof(int));
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 0;
    set_args(kernel, a, b, 3);
    launch(list, kernel, n / 10, 10);
    finish(list);
    for (int i = 0; i < n; i++)
        CHECK(b[i] == 3 * i);
}

static void nulls() {
    const auto handle = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    const auto pointer = ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!direct && !std::getenv("ZE_ENABLE_PARAMETER_VALIDATION"))
        return; // a loader with several drivers looks into handles before it calls the driver
    CHECK_RESULT(ze.zeDriverGetProperties(nullptr, nullptr), handle);
    CHECK_RESULT(ze.zeDriverGetProperties(driver, nullptr), pointer);
    CHECK_RESULT(ze.zeDeviceGet(driver, nullptr, nullptr), pointer);
    CHECK_RESULT(ze.zeDeviceGetProperties(device, nullptr), pointer);
    CHECK_RESULT(ze.zeDeviceGetComputeProperties(nullptr, nullptr), handle);
    CHECK_RESULT(ze.zeContextCreate(driver, nullptr, &context), pointer);
    CHECK_RESULT(ze.zeContextDestroy(nullptr), handle);
    CHECK_RESULT(ze.zeModuleCreate(context, device, nullptr, nullptr, nullptr), pointer);
    CHECK_RESULT(ze.zeModuleDestroy(nullptr), handle);
    CHECK_RESULT(ze.zeKernelSetArgumentValue(nullptr, 0, 0, nullptr), handle);
    CHECK_RESULT(ze.zeKernelDestroy(nullptr), handle);
    CHECK_RESULT(ze.zeCommandListAppendBarrier(nullptr, nullptr, 0, nullptr), handle);
    CHECK_RESULT(ze.zeCommandListAppendLaunchKernel(nullptr, nullptr, nullptr, nullptr, 0, nullptr), handle);
    CHECK_RESULT(ze.zeCommandQueueExecuteCommandLists(nullptr, 1, nullptr, nullptr), handle);
    CHECK_RESULT(ze.zeEventHostSignal(nullptr), handle);
    CHECK_RESULT(ze.zeFenceReset(nullptr), handle);
    CHECK_RESULT(ze.zeMemFree(context, nullptr), pointer);
    const auto list = immediate_list();
    CHECK_RESULT(ze.zeCommandListAppendLaunchKernel(list, nullptr, nullptr, nullptr, 0, nullptr), handle);
    CHECK_RESULT(ze.zeCommandListAppendMemoryCopy(list, nullptr, nullptr, 1, nullptr, 0, nullptr), pointer);
    CHECK_RESULT(ze.zeCommandListAppendSignalEvent(list, nullptr), handle);
    CHECK_RESULT(ze.zeCommandListAppendBarrier(list, nullptr, 2, nullptr), ZE_RESULT_ERROR_INVALID_SIZE);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    properties();
    vector_widths();
    driver_properties();
    contexts();
    first_kernel();
    nulls();
    OK(ze.zeContextDestroy(context));
    std::puts("ok");
}

// SPDX-License-Identifier: Apache-2.0
// Properties of the device and of the driver, and contexts.
#include <algorithm>
#include <string_view>

#include "ze_test.h"

TEST(properties) {
    const auto p = filled(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ze.zeDeviceGetProperties, device);
    CHECK(p.type == ZE_DEVICE_TYPE_CPU && p.name[0] && p.timerResolution == 1 && p.timestampValidBits == 64 &&
          p.kernelTimestampValidBits == 64 && p.maxMemAllocSize > 0);
    const auto p2 = filled(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, ze.zeDeviceGetProperties, device);
    CHECK(p2.timerResolution == 1000000000);
    CHECK(std::memcmp(&p.uuid, &p2.uuid, sizeof p.uuid) == 0);

    const auto c =
        filled(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, ze.zeDeviceGetComputeProperties, device);
    CHECK(c.maxTotalGroupSize >= 64 && c.maxGroupSizeX >= 64 && c.maxSharedLocalMemory > 0 &&
          c.numSubGroupSizes > 0);
    const auto module_type = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
    const auto m = filled(module_type, ze.zeDeviceGetModuleProperties, device);
    CHECK(m.spirvVersionSupported >= ZE_MAKE_VERSION(1, 2) && (m.flags & ZE_DEVICE_MODULE_FLAG_FP64) &&
          m.maxArgumentsSize >= 1024);
    auto hints =
        of_type<ze_scheduling_hint_exp_properties_t>(ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES);
    hints.schedulingHintFlags = UINT32_MAX;
    filled(module_type, &hints, ze.zeDeviceGetModuleProperties, device);
    CHECK(hints.schedulingHintFlags == 0); // they are accepted and have no effect
    auto atomics = of_type<ze_float_atomic_ext_properties_t>(ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES);
    filled(module_type, &atomics, ze.zeDeviceGetModuleProperties, device);
    const uint32_t everything = // tests/runtime/test_cpu_atomics.py runs these
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD |
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE |
        ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX;
    CHECK(atomics.fp16Flags == everything && atomics.fp32Flags == everything &&
          atomics.fp64Flags == everything);

    uint32_t count = 0;
    OK(ze.zeDeviceGetCommandQueueGroupProperties(device, &count, nullptr));
    CHECK(count == 1);
    count = 5;
    const auto q = filled(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
                          ze.zeDeviceGetCommandQueueGroupProperties, device, &count);
    CHECK(count == 1 && q.numQueues == 1 && q.maxMemoryFillPatternSize == 128 &&
          q.flags ==
              (ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
               ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS));
    CHECK(filled(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, ze.zeDeviceGetMemoryProperties, device, &count)
              .totalSize > 0);
    const auto access = filled(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES,
                               ze.zeDeviceGetMemoryAccessProperties, device);
    CHECK(access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW);
    filled(ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, ze.zeDeviceGetCacheProperties, device, &count);
    const auto external = filled(ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES,
                                 ze.zeDeviceGetExternalMemoryProperties, device);
    CHECK(external.memoryAllocationExportTypes == ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD);
    filled(ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, ze.zeDeviceGetP2PProperties, device, device);
    CHECK(got(ze.zeDeviceCanAccessPeer, device, device));
    OK(ze.zeDeviceGetStatus(device));
    count = 9;
    OK(ze.zeDeviceGetSubDevices(device, &count, nullptr));
    CHECK(count == 0);
    uint64_t host = 0, dev = 0, dev2 = 0;
    OK(ze.zeDeviceGetGlobalTimestamps(device, &host, &dev));
    OK(ze.zeDeviceGetGlobalTimestamps(device, &host, &dev2));
    CHECK(dev > 0 && dev2 >= dev);
}

TEST(vector_widths) {
    ze_cpu::VectorWidths widths{ze_structure_type_t(0x20029), nullptr, 0, {}, {}};
    uint32_t count = 0;
    OK(ze.zeDeviceGetVectorWidthPropertiesExt(device, &count, nullptr));
    CHECK(count == 1);
    OK(ze.zeDeviceGetVectorWidthPropertiesExt(device, &count, &widths));
    CHECK(widths.size > 0);
    for (const auto &set : {widths.preferred, widths.native})
        CHECK(set.of_char > 0 && set.of_short > 0 && set.of_int > 0 && set.of_long > 0 && set.of_float > 0 &&
              set.of_double > 0 && set.of_half > 0);
    CHECK(widths.native.of_char == 4 * widths.native.of_int); // bytes and ints in one register
}

TEST(driver_properties) {
    auto version = got(ze.zeDriverGetApiVersion, driver);
    CHECK(version == ze_api_version_t(ZE_MAKE_VERSION(1, 18)));
    const auto p = filled(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, ze.zeDriverGetProperties, driver);
    CHECK(p.driverVersion != 0);
    const auto ipc = filled(ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES, ze.zeDriverGetIpcProperties, driver);
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
    auto address = got(ze.zeDriverGetExtensionFunctionAddress, driver, "zeEventCreate");
    CHECK(address);
    CHECK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeNoSuchThing", &address) != ZE_RESULT_SUCCESS);
}

TEST(contexts) {
    OK(ze.zeContextGetStatus(context));
    OK(ze.zeContextSystemBarrier(context, device));
    ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    auto other = got(ze.zeContextCreateEx, driver, &desc, 1, &device);
    const auto p = shared<int>(4096);
    OK(ze.zeContextMakeMemoryResident(other, device, p, 4096));
    OK(ze.zeContextEvictMemory(other, device, p, 4096));
    OK(ze.zeContextDestroy(other));
}

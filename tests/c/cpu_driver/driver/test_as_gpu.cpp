// SPDX-License-Identifier: Apache-2.0
// With ZE_CPU_AS_GPU=1 in the environment (meson sets it) a program that asks for GPUs only gets
// the device. test_tables.cpp tests what happens without the variable.
#include "ze_test.h"

namespace {

using ze_cpu::InitDriverTypeDesc;
constexpr uint32_t gpu = 1, npu = 2;

const ze_init_flags_t gpus_only = first_init_flags = ZE_INIT_FLAG_GPU_ONLY;

TEST(type) {
    const auto properties = filled(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ze.zeDeviceGetProperties, device);
    CHECK(properties.type == ZE_DEVICE_TYPE_GPU);
}

TEST(by_type) {
    // Loaders have an answer of their own.
    const auto init = reinterpret_cast<decltype(ze.zeInitDrivers)>(
        got(ze.zeDriverGetExtensionFunctionAddress, driver, "zeInitDrivers"));
    for (uint32_t flags : {gpu, gpu | npu, UINT32_MAX}) {
        InitDriverTypeDesc desc{ze_structure_type_t(0x00020021), nullptr, flags};
        uint32_t count = 0;
        OK(init(&count, nullptr, &desc));
        CHECK(count == 1);
        ze_driver_handle_t handle = nullptr;
        OK(init(&count, &handle, &desc));
        CHECK(handle == driver || !direct);
    }
    InitDriverTypeDesc desc{ze_structure_type_t(0x00020021), nullptr, npu};
    uint32_t count = 0;
    REFUSED(UNINITIALIZED, init(&count, nullptr, &desc));
    OK(ze.zeInit(ZE_INIT_FLAG_GPU_ONLY));
    if (direct) // loaders answer for drivers that are initialised already
        REFUSED(UNINITIALIZED, ze.zeInit(ZE_INIT_FLAG_VPU_ONLY));
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// With ZE_CPU_AS_GPU=1 in the environment (meson sets it) a program that asks for GPUs only gets
// the device. test_tables.cpp tests what happens without the variable.
#include "ze_test.h"

namespace {

struct InitDriverTypeDesc { // of Level Zero 1.10; headers may be older
    ze_structure_type_t stype;
    const void *next;
    uint32_t flags;
};
using InitDrivers = ze_result_t (*)(uint32_t *, ze_driver_handle_t *, InitDriverTypeDesc *);
constexpr uint32_t gpu = 1, npu = 2;

void by_type() {
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeInitDrivers", &address));
    auto init = reinterpret_cast<InitDrivers>(address);
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
    CHECK_RESULT(init(&count, nullptr, &desc), ZE_RESULT_ERROR_UNINITIALIZED);
    OK(ze.zeInit(ZE_INIT_FLAG_GPU_ONLY));
    if (direct) // loaders answer for drivers that are initialised already
        CHECK_RESULT(ze.zeInit(ZE_INIT_FLAG_VPU_ONLY), ZE_RESULT_ERROR_UNINITIALIZED);
}

} // namespace

int main(int argc, char **argv) {
    first_init_flags = ZE_INIT_FLAG_GPU_ONLY;
    open_driver(argc, argv);
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    OK(ze.zeDeviceGetProperties(device, &properties));
    CHECK(properties.type == ZE_DEVICE_TYPE_GPU);
    by_type();
    std::puts("ok");
}

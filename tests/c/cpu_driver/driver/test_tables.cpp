// SPDX-License-Identifier: Apache-2.0
//
// The exported tables: for every version that a loader may ask with, exactly the slots of that version are
// filled.
#include <dlfcn.h>

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "ze_test.h"

namespace {

using Getter = ze_result_t (*)(ze_api_version_t, void *);
constexpr size_t room = 128;
void *const poison = reinterpret_cast<void *>(uintptr_t(0x5a5a5a5a));

Getter find(const char *name) {
    auto getter = reinterpret_cast<Getter>(dlsym(driver_library, name));
    if (!getter)
        std::printf("not exported: %s\n", name);
    CHECK(getter);
    return getter;
}

/// The number of slots that the getter fills for version 1.<minor>. They are the first ones and not
/// null, and nothing after them is written.
size_t filled(Getter getter, uint32_t minor) {
    void *table[room];
    for (void *&slot : table)
        slot = poison;
    OK(getter(ze_api_version_t(ZE_MAKE_VERSION(1, minor)), table));
    size_t count = 0;
    while (count < room && table[count] != poison)
        CHECK(table[count++] != nullptr);
    for (size_t i = count; i < room; i++)
        CHECK(table[i] == poison);
    return count;
}

void check_core(const char *name, size_t slots_in_header) {
    Getter getter = find(name);
    const uint32_t header = uint32_t(ZE_API_VERSION_CURRENT);
    if (ZE_MINOR_VERSION(header) <= 18 && filled(getter, ZE_MINOR_VERSION(header)) != slots_in_header) {
        std::printf("%s fills %zu slots, the headers have %zu\n", name,
                    filled(getter, ZE_MINOR_VERSION(header)), slots_in_header);
        std::exit(1);
    }
    size_t before = 0;
    for (uint32_t minor = 0; minor < 40; minor++) {
        size_t now = filled(getter, minor);
        CHECK(now >= before);
        before = now;
    }
    void *table[room];
    REFUSED(UNSUPPORTED_VERSION, getter(ze_api_version_t(ZE_MAKE_VERSION(2, 0)), table));
    REFUSED(INVALID_NULL_POINTER, getter(ZE_API_VERSION_1_0, nullptr));
}

void check_tool(const char *name) {
    Getter getter = find(name);
    void *table[room] = {};
    OK(getter(ZE_API_VERSION_CURRENT, table));
}

TEST(lacking) {
    void *table[room] = {};
    OK(find("zeGetDeviceExpProcAddrTable")(ZE_API_VERSION_1_4, table));
    const auto get_vertex = reinterpret_cast<decltype(&zeDeviceGetFabricVertexExp)>(table[0]);
    ze_fabric_vertex_handle_t vertex = nullptr;
    REFUSED(UNSUPPORTED_FEATURE, get_vertex(device, &vertex));
}

TEST(drivers_by_type) {
    struct {
        ze_structure_type_t stype;
        const void *next;
        uint32_t flags;
    } desc{};
    using InitDrivers = ze_result_t (*)(uint32_t *, ze_driver_handle_t *, void *);
    void *table[room] = {};
    OK(find("zeGetGlobalProcAddrTable")(ze_api_version_t(ZE_MAKE_VERSION(1, 10)), table));
    auto init = reinterpret_cast<InitDrivers>(table[1]);
    uint32_t count = 0;
    desc.flags = 1; // GPUs only
    REFUSED(UNINITIALIZED, init(&count, nullptr, &desc));
    desc.flags = UINT32_MAX;
    OK(init(&count, nullptr, &desc));
    ze_driver_handle_t handle = nullptr;
    OK(init(&count, &handle, &desc));
    CHECK(count == 1 && handle == driver);
    REFUSED(UNINITIALIZED, ze.zeInit(ZE_INIT_FLAG_GPU_ONLY));
}

} // namespace

TEST(tables) {
#define CORE(getter, type) check_core(#getter, sizeof(type) / sizeof(void *))
    CORE(zeGetGlobalProcAddrTable, ze_global_dditable_t);
    CORE(zeGetDriverProcAddrTable, ze_driver_dditable_t);
    CORE(zeGetDeviceProcAddrTable, ze_device_dditable_t);
    CORE(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t);
    CORE(zeGetContextProcAddrTable, ze_context_dditable_t);
    CORE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t);
    CORE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t);
    CORE(zeGetImageProcAddrTable, ze_image_dditable_t);
    CORE(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t);
    CORE(zeGetFenceProcAddrTable, ze_fence_dditable_t);
    CORE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t);
    CORE(zeGetEventProcAddrTable, ze_event_dditable_t);
    CORE(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t);
    CORE(zeGetModuleProcAddrTable, ze_module_dditable_t);
    CORE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t);
    CORE(zeGetKernelProcAddrTable, ze_kernel_dditable_t);
    CORE(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t);
    CORE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t);
    CORE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t);
    CORE(zeGetMemProcAddrTable, ze_mem_dditable_t);
    CORE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t);
    CORE(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t);
    CORE(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t);
#define ZE_CPU_TABLE(getter)
#define ZE_CPU_HAS(minor, name)
#define ZE_CPU_NEWER(minor, name)
#define ZE_CPU_LACKS(minor, name)
#define ZE_CPU_END
#define ZE_CPU_EMPTY(getter) check_tool(#getter);
#include "border/tables.def"
}

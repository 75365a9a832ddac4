// SPDX-License-Identifier: Apache-2.0
//
// Every way to ask for timestamps, of events of every kind of pool.
#include "ze_test.h"

namespace {

// These are of Level Zero 1.6; headers may be older.
constexpr ze_event_pool_flags_t mapped_timestamps = 1 << 3;
struct HostSpans {
    uint64_t global[2], context[2];
};
struct Results {
    ze_structure_type_t stype;
    void *next;
    ze_kernel_timestamp_result_t *kernel;
    HostSpans *host;
};
using QueryBoth = ze_result_t (*)(ze_event_handle_t, ze_device_handle_t, uint32_t *, Results *);
constexpr auto results_type = ze_structure_type_t(0x10012);

ze_module_handle_t module;
QueryBoth query_both;

bool same(const ze_kernel_timestamp_result_t &a, const ze_kernel_timestamp_result_t &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Kernels signal an event of a pool with these flags, which is reset in between. All queries must agree, and
/// lie between two looks at the clock.
void pool_with(ze_event_pool_flags_t flags) {
    const auto pool = make_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | flags);
    const auto event = make_event(pool, 0);
    ze_kernel_timestamp_result_t direct_result{}, listed{}, appended{}, both{};
    HostSpans host{};
    Results results{results_type, nullptr, &both, &host};
    uint32_t count = 0;
    OK(query_both(event, device, &count, nullptr));
    CHECK(count == 1);
    const auto spin = make_kernel(module, "spin");
    const auto list = immediate_list();
    int out[8] = {};
    set_args(spin, &out[0], 10000);
    for (int round = 0; round < 2; round++) {
        CHECK_RESULT(query_both(event, device, &count, &results), ZE_RESULT_NOT_READY);
        CHECK_RESULT(ze.zeEventQueryKernelTimestamp(event, &direct_result), ZE_RESULT_NOT_READY);
        uint64_t host_time = 0, before = 0, after = 0;
        OK(ze.zeDeviceGetGlobalTimestamps(device, &host_time, &before));
        launch(list, spin, 1, 8, event);
        OK(ze.zeCommandListAppendQueryKernelTimestamps(list, 1, &event, &appended, nullptr, nullptr, 0,
                                                       nullptr));
        finish(list);
        OK(ze.zeDeviceGetGlobalTimestamps(device, &host_time, &after));

        OK(ze.zeEventQueryKernelTimestamp(event, &direct_result));
        OK(ze.zeEventQueryTimestampsExp(event, device, &count, &listed));
        OK(query_both(event, device, &count, &results));
        CHECK(count == 1 && same(direct_result, listed) && same(direct_result, appended) &&
              same(direct_result, both));
        CHECK(direct_result.global.kernelStart >= before && direct_result.global.kernelEnd <= after);
        CHECK(direct_result.global.kernelStart < direct_result.global.kernelEnd);
        for (int i = 0; i < 2; i++) {
            const uint64_t expected = i ? direct_result.global.kernelEnd : direct_result.global.kernelStart;
            CHECK(host.global[i] == expected && host.context[i] == expected);
        }
        OK(ze.zeEventHostReset(event));
    }
}

void flags() {
    ze_event_pool_handle_t pool = nullptr;
    for (ze_event_pool_flags_t bad : {ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | mapped_timestamps, 1u << 4}) {
        ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, bad, 1};
        CHECK_RESULT(ze.zeEventPoolCreate(context, &desc, 1, &device, &pool),
                     ZE_RESULT_ERROR_INVALID_ENUMERATION);
    }
}

void announced() {
    struct {
        ze_structure_type_t stype;
        void *next;
        uint32_t flags;
    } kinds{ze_structure_type_t(0x10011), nullptr, 0};
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    properties.pNext = &kinds;
    OK(ze.zeDeviceGetProperties(device, &properties));
    CHECK(kinds.flags == 3); // the kernel's, and synchronised with the host's clock
}

} // namespace

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("kernels.spv").release();
    void *address = nullptr;
    OK(ze.zeDriverGetExtensionFunctionAddress(driver, "zeEventQueryKernelTimestampsExt", &address));
    query_both = reinterpret_cast<QueryBoth>(address);
    announced();
    pool_with(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    pool_with(mapped_timestamps);
    pool_with(0); // without the flag: other drivers forgive that, too
    flags();
    OK(ze.zeModuleDestroy(module));
    std::puts("ok");
}

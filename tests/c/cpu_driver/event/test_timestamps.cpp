// SPDX-License-Identifier: Apache-2.0
// Every way to ask for timestamps, of events of every kind of pool.
#include "ze_test.h"

namespace {

using ze_cpu::KernelTimestampsProperties, ze_cpu::KernelTimestampsResults, ze_cpu::pool_mapped_timestamps;

bool same(const ze_kernel_timestamp_result_t &a, const ze_kernel_timestamp_result_t &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Kernels signal an event of a pool with these flags, which is reset in between. All queries must agree, and
/// lie between two looks at the clock.
void pool_with(ze_event_pool_flags_t flags) {
    const auto pool = make_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | flags);
    const auto event = make_event(pool, 0);
    ze_kernel_timestamp_result_t direct_result{}, listed{}, appended{}, both{};
    KernelTimestampsResults::Synchronized host{};
    KernelTimestampsResults results{ze_structure_type_t(0x10012), nullptr, &both, &host};
    uint32_t count = 0;
    OK(ze.zeEventQueryKernelTimestampsExt(event, device, &count, nullptr));
    CHECK(count == 1);
    const auto spin = make_kernel("spin");
    const auto list = immediate_list();
    int out[8] = {};
    set_args(spin, &out[0], 10000);
    for (int round = 0; round < 2; round++) {
        NOT_READY(ze.zeEventQueryKernelTimestampsExt(event, device, &count, &results));
        NOT_READY(ze.zeEventQueryKernelTimestamp(event, &direct_result));
        const uint64_t before = device_time();
        launch(list, spin, 1, 8, event);
        append(ze.zeCommandListAppendQueryKernelTimestamps, list, 1, &event, &appended, nullptr);
        finish(list);
        const uint64_t after = device_time();
        OK(ze.zeEventQueryKernelTimestamp(event, &direct_result));
        OK(ze.zeEventQueryTimestampsExp(event, device, &count, &listed));
        OK(ze.zeEventQueryKernelTimestampsExt(event, device, &count, &results));
        CHECK(count == 1 && same(direct_result, listed) && same(direct_result, appended) &&
              same(direct_result, both));
        CHECK(direct_result.global.kernelStart >= before && direct_result.global.kernelEnd <= after);
        CHECK(direct_result.global.kernelStart < direct_result.global.kernelEnd);
        for (int i = 0; i < 2; i++) {
            const uint64_t expected = i ? direct_result.global.kernelEnd : direct_result.global.kernelStart;
            CHECK((i ? host.global.end : host.global.start) == expected);
            CHECK((i ? host.context.end : host.context.start) == expected);
        }
        OK(ze.zeEventHostReset(event));
    }
}

TEST(flags) {
    ze_event_pool_handle_t pool = nullptr;
    for (ze_event_pool_flags_t bad :
         {ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | pool_mapped_timestamps, 1u << 4}) {
        ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, bad, 1};
        REFUSED(INVALID_ENUMERATION, ze.zeEventPoolCreate(context, &desc, 1, &device, &pool));
    }
}

TEST(announced) {
    KernelTimestampsProperties kinds{KernelTimestampsProperties::type, nullptr, 0};
    filled(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &kinds, ze.zeDeviceGetProperties, device);
    CHECK(kinds.flags == 3); // the kernel's, and synchronised with the host's clock
}

TEST(pools) {
    pool_with(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    if (direct) // the validation layer of 1.8 does not know the flag
        pool_with(pool_mapped_timestamps);
    pool_with(0); // without the flag: other drivers forgive that, too
}

} // namespace

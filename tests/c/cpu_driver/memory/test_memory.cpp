// SPDX-License-Identifier: Apache-2.0
// USM: kinds, queries, alignment, bad input.
#include "ze_test.h"

TEST(kinds) {
    for (ze_memory_type_t type : {ZE_MEMORY_TYPE_HOST, ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_SHARED})
        for (size_t size : {size_t(1), size_t(100), size_t(65536), size_t(9) << 20})
            for (size_t alignment : {size_t(0), size_t(1), size_t(64), size_t(4096), size_t(2) << 20}) {
                auto *p = static_cast<char *>(allocate(type, size, alignment));
                CHECK(alignment == 0 || reinterpret_cast<uintptr_t>(p) % alignment == 0);
                std::memset(p, 1, size);
                ze_device_handle_t owner = nullptr;
                auto properties = properties_of(p + size - 1, nullptr, &owner);
                CHECK(properties.type == type && properties.id != 0 && properties.pageSize != 0);
                CHECK(type == ZE_MEMORY_TYPE_HOST || owner == device);
                void *base = nullptr;
                auto found = got(ze.zeMemGetAddressRange, context, p + size / 2, &base);
                CHECK(base == p && found == size);
                OK(ze.zeMemGetAddressRange(context, p, nullptr, &found));
                OK(ze.zeMemFree(context, p));
                CHECK(properties_of(p).type == ZE_MEMORY_TYPE_UNKNOWN);
            }
    void *a = allocate(ZE_MEMORY_TYPE_HOST, 10), *b = allocate(ZE_MEMORY_TYPE_HOST, 10);
    CHECK(properties_of(a).id != properties_of(b).id);
    destroy(a);
    destroy(b);
}

TEST(bad_input) {
    const ze_device_mem_alloc_desc_t device_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void *p = nullptr;
    REFUSED(UNSUPPORTED_SIZE, ze.zeMemAllocHost(context, &host_desc, 0, 0, &p));
    REFUSED(UNSUPPORTED_SIZE, ze.zeMemAllocDevice(context, &device_desc, SIZE_MAX, 0, device, &p));
    REFUSED(UNSUPPORTED_ALIGNMENT, ze.zeMemAllocShared(context, &device_desc, &host_desc, 16, 3, device, &p));
    REFUSED(UNSUPPORTED_ALIGNMENT, ze.zeMemAllocHost(context, &host_desc, 16, size_t(1) << 40, &p));
    int local = 0;
    void *foreign = std::malloc(64);
    for (void *other : {static_cast<void *>(&local), foreign, reinterpret_cast<void *>(uintptr_t(8))}) {
        REFUSED(INVALID_ARGUMENT, ze.zeMemFree(context, other));
        CHECK(properties_of(other).type == ZE_MEMORY_TYPE_UNKNOWN);
        size_t size = 0;
        CHECK(ze.zeMemGetAddressRange(context, other, nullptr, &size) != ZE_RESULT_SUCCESS);
    }
    std::free(foreign);
    auto *ours = static_cast<char *>(allocate(ZE_MEMORY_TYPE_SHARED, 64, 0));
    REFUSED(INVALID_ARGUMENT, ze.zeMemFree(context, ours + 8));
    OK(ze.zeMemFree(context, ours));
    REFUSED(INVALID_ARGUMENT, ze.zeMemFree(context, ours));
}

// SPDX-License-Identifier: Apache-2.0
// Reserved address ranges with physical memory mapped into them, used by kernels and copies.
#include <csetjmp>
#include <csignal>

#include "ze_test.h"

namespace {

size_t page = 0;

uint8_t *reserve(size_t size, const void *wish = nullptr) {
    return static_cast<uint8_t *>(got(ze.zeVirtualMemReserve, context, wish, size));
}

Owned<ze_physical_mem_handle_t> physical(size_t size, ze_physical_mem_flags_t flags = 0) {
    auto desc = of_type<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
    desc.flags = flags;
    desc.size = size;
    return made(ze.zePhysicalMemCreate, context, device, &desc);
}

void map(void *range, size_t size, ze_physical_mem_handle_t memory, size_t offset = 0,
         ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) {
    OK(ze.zeVirtualMemMap(context, range, size, memory, offset, access));
}

void free(void *range, size_t size) {
    OK(ze.zeVirtualMemFree(context, range, size));
}

ze_memory_access_attribute_t access(const void *p, size_t size, size_t &same) {
    auto found = ze_memory_access_attribute_t(77);
    OK(ze.zeVirtualMemGetAccessAttribute(context, p, size, &found, &same));
    return found;
}

sigjmp_buf escape;
void on_fault(int) {
    siglongjmp(escape, 1);
}
bool faults(volatile uint8_t *p, bool when_written) {
    struct sigaction action {
    }, before{};
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
    const bool fault = sigsetjmp(escape, 1) != 0;
    if (!fault) {
        if (when_written)
            *p = 1;
        else
            (void)*p;
    }
    sigaction(SIGSEGV, &before, nullptr);
    return fault;
}

TEST(page_size) {
    page = got(ze.zeVirtualMemQueryPageSize, context, device, 100);
    CHECK(page >= 4096 && (page & (page - 1)) == 0);
}

/// Two physical objects, mapped side by side, are one range for a kernel. One object, mapped twice,
/// is one memory.
TEST(kernel_over_two_objects) {
    const size_t half = 4 * page;
    uint8_t *range = reserve(4 * half);
    auto a = physical(half), b = physical(half, 1u << 1); // the second on the host
    map(range, half, a);
    map(range + half, half, b);
    map(range + 3 * half, half - page, a, page, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY);
    const int count = int(2 * half / sizeof(int));
    auto *values = reinterpret_cast<int *>(range);
    for (int i = 0; i < count; i++)
        values[i] = i;
    const auto add = make_kernel("add_one");
    set_arg(add, 0, values);
    launch(list, add, uint32_t(count / 16), 16);
    int copy[4] = {};
    append(ze.zeCommandListAppendMemoryCopy, list, copy, values + count / 2 - 2, sizeof copy);
    finish(list);
    for (int i = 0; i < count; i++)
        CHECK(values[i] == i + 1);
    for (int i = 0; i < 4; i++)
        CHECK(copy[i] == count / 2 - 2 + i + 1);
    CHECK(std::memcmp(range + 3 * half, range + page, half - page) == 0);
    CHECK(faults(range + 3 * half, true) && !faults(range + 3 * half, false));
    CHECK(faults(range + 2 * half, false)); // reserved, not mapped

    ze_device_handle_t owner = nullptr;
    const auto properties = properties_of(range + 5, nullptr, &owner);
    CHECK(properties.type == ZE_MEMORY_TYPE_DEVICE && properties.id && owner == device);
    CHECK(properties_of(range + half).type == ZE_MEMORY_TYPE_HOST);
    CHECK(properties_of(range + 2 * half).type == ZE_MEMORY_TYPE_UNKNOWN);
    void *base = nullptr;
    auto size = got(ze.zeMemGetAddressRange, context, range + half + 1, &base);
    CHECK(base == range + half && size == half);

    // Mapped pages stay when their object is destroyed, and contents stay while the object lives.
    b.end();
    CHECK(values[count - 1] == count);
    OK(ze.zeVirtualMemUnmap(context, range, half));
    CHECK(faults(range, false));
    map(range + half, half, a);
    CHECK(values[count / 2] == 1);
    free(range, 4 * half);
    CHECK(faults(range + half, false));
}

TEST(read_only_announced) {
    using ze_cpu::ReadonlyMemoryProperties;
    ReadonlyMemoryProperties readonly{ReadonlyMemoryProperties::type, nullptr, 0};
    filled(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &readonly, ze.zeDeviceGetProperties, device);
    CHECK(readonly.capability == ReadonlyMemoryProperties::enforced);
}

TEST(access_attributes) {
    uint8_t *range = reserve(8 * page);
    size_t same = 0;
    CHECK(access(range, 8 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE && same == 8 * page);
    const auto memory = physical(8 * page);
    map(range, 8 * page, memory);
    CHECK(access(range, 8 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE && same == 8 * page);
    std::memset(range, 5, 8 * page);
    OK(ze.zeVirtualMemSetAccessAttribute(context, range + 2 * page, 3 * page,
                                         ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    OK(ze.zeVirtualMemSetAccessAttribute(context, range + 5 * page, page, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE));
    CHECK(access(range, 8 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE && same == 2 * page);
    CHECK(access(range + 3 * page, 8 * page - 3 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY &&
          same == 2 * page);
    CHECK(access(range + 2 * page, page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY && same == page);
    CHECK(!faults(range + page, true) && faults(range + 2 * page, true) && !faults(range + 2 * page, false) &&
          faults(range + 5 * page, false) && !faults(range + 6 * page, true));
    OK(ze.zeVirtualMemSetAccessAttribute(context, range, 8 * page, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    CHECK(access(range, 8 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE && same == 8 * page);
    CHECK(range[5 * page] == 5);
    OK(ze.zeVirtualMemUnmap(context, range + page, page));
    CHECK(access(range + page, 7 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE && same == page);
    free(range, 8 * page);
}

TEST(wishes) {
    uint8_t *range = reserve(16 * page);
    uint8_t *other = reserve(4 * page, range + 4 * page); // taken, so another is chosen
    CHECK(other + 4 * page <= range || other >= range + 16 * page);
    free(range, 16 * page);
    free(other, 4 * page);
}

TEST(bad_input) {
    uint8_t *range = reserve(4 * page);
    const auto memory = physical(2 * page);
    ze_physical_mem_handle_t none = nullptr;
    void *p = nullptr;
    size_t same = 0;
    const auto rw = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    REFUSED(UNSUPPORTED_SIZE, ze.zeVirtualMemReserve(context, nullptr, 0, &p));
    REFUSED(UNSUPPORTED_SIZE, ze.zeVirtualMemReserve(context, nullptr, page + 1, &p));
    auto desc = of_type<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
    REFUSED(UNSUPPORTED_SIZE, ze.zePhysicalMemCreate(context, device, &desc, &none));
    desc.size = page - 1;
    REFUSED(UNSUPPORTED_SIZE, ze.zePhysicalMemCreate(context, device, &desc, &none));
    desc.size = page;
    desc.flags = 1u << 7;
    REFUSED(INVALID_ENUMERATION, ze.zePhysicalMemCreate(context, device, &desc, &none));
    REFUSED(UNSUPPORTED_SIZE, ze.zeVirtualMemMap(context, range, 3 * page, memory, 0, rw));
    REFUSED(UNSUPPORTED_SIZE, ze.zeVirtualMemMap(context, range, 2 * page, memory, page, rw));
    REFUSED(UNSUPPORTED_SIZE, ze.zeVirtualMemMap(context, range, page, memory, 3 * page, rw));
    REFUSED(UNSUPPORTED_ALIGNMENT, ze.zeVirtualMemMap(context, range, page, memory, 1, rw));
    REFUSED(UNSUPPORTED_ALIGNMENT, ze.zeVirtualMemMap(context, range + 1, page, memory, 0, rw));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemMap(context, range + 3 * page, 2 * page, memory, 0, rw));
    REFUSED(INVALID_ENUMERATION,
            ze.zeVirtualMemMap(context, range, page, memory, 0, ze_memory_access_attribute_t(3)));
    const auto foreign = shared<uint8_t>(page, page);
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemMap(context, foreign, page, memory, 0, rw));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemUnmap(context, foreign, page));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemSetAccessAttribute(context, foreign, page, rw));
    auto found = rw;
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemGetAccessAttribute(context, foreign, page, &found, &same));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemFree(context, foreign, page));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemFree(context, range, 2 * page));
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemFree(context, range + page, 3 * page));
    REFUSED(INVALID_ARGUMENT, ze.zeMemFree(context, range));
    free(range, 4 * page);
    REFUSED(INVALID_ARGUMENT, ze.zeVirtualMemFree(context, range, 4 * page));
}

/// An IPC handle can be made for a mapped range, and for the handle of a physical object in place
/// of a pointer.
TEST(shared_with_others) {
    uint8_t *range = reserve(2 * page);
    const auto memory = physical(2 * page);
    map(range, 2 * page, memory);
    for (const void *source : {static_cast<const void *>(range),
                               reinterpret_cast<const void *>(ze_physical_mem_handle_t(memory))}) {
        auto handle = got(ze.zeMemGetIpcHandle, context, source);
        auto opened = got(ze.zeMemOpenIpcHandle, context, device, handle, 0);
        range[page]++;
        CHECK(std::memcmp(opened, range, 2 * page) == 0);
        OK(ze.zeMemCloseIpcHandle(context, opened));
    }
    free(range, 2 * page);
}

/// Receivers map physical memory from its start, so a mapping that begins elsewhere has no handle.
TEST(handles_of_mappings) {
    uint8_t *range = reserve(2 * page);
    const auto memory = physical(2 * page);
    map(range, page, memory, page);
    map(range + page, page, memory);
    range[0] = 2, range[page] = 1;
    ze_ipc_mem_handle_t handle{};
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetIpcHandle(context, range, &handle));
    const std::string why = last_refusal();
    CHECK(why.find("byte " + std::to_string(page)) != std::string::npos);
    ze_external_memory_export_fd_t out{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                       ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    auto properties =
        of_type<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, &out);
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetAllocProperties(context, range, &properties, nullptr));
    OK(ze.zeMemGetIpcHandle(context, range + page, &handle));
    void *opened = nullptr, *base = nullptr;
    size_t size = 0;
    OK(ze.zeMemOpenIpcHandle(context, device, handle, 0, &opened));
    CHECK(*static_cast<uint8_t *>(opened) == 1);
    OK(ze.zeMemGetAddressRange(context, opened, &base, &size));
    CHECK(base == opened && size == page);
    OK(ze.zeMemCloseIpcHandle(context, opened));

    // A change of access splits a mapping in two.
    map(range, 2 * page, memory);
    OK(ze.zeVirtualMemSetAccessAttribute(context, range + page, page, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    REFUSED(INVALID_ARGUMENT, ze.zeMemGetIpcHandle(context, range + page, &handle));
    free(range, 2 * page);
}

} // namespace

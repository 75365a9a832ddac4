// SPDX-License-Identifier: Apache-2.0
//
// Reserved address ranges with physical memory mapped into them, used by kernels and copies.
#include <csetjmp>
#include <csignal>

#include "ze_test.h"

namespace {

size_t page;
ze_module_handle_t module;
ze_command_list_handle_t list;

uint8_t *reserve(size_t size, const void *wish = nullptr) {
    void *p = nullptr;
    OK(ze.zeVirtualMemReserve(context, wish, size, &p));
    CHECK(p);
    return static_cast<uint8_t *>(p);
}

ze_physical_mem_handle_t physical(size_t size, ze_physical_mem_flags_t flags = 0) {
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    desc.flags = flags;
    desc.size = size;
    ze_physical_mem_handle_t handle = nullptr;
    OK(ze.zePhysicalMemCreate(context, device, &desc, &handle));
    return handle;
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

/// Two physical objects, mapped side by side, are one range for a kernel. One object, mapped twice,
/// is one memory.
void kernel_over_two_objects() {
    const size_t half = 4 * page;
    uint8_t *range = reserve(4 * half);
    ze_physical_mem_handle_t a = physical(half), b = physical(half, 1u << 1); // the second on the host
    OK(ze.zeVirtualMemMap(context, range, half, a, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    OK(ze.zeVirtualMemMap(context, range + half, half, b, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    OK(ze.zeVirtualMemMap(context, range + 3 * half, half - page, a, page,
                          ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    const int count = int(2 * half / sizeof(int));
    auto *values = reinterpret_cast<int *>(range);
    for (int i = 0; i < count; i++)
        values[i] = i;
    const auto add = make_kernel(module, "add_one");
    set_arg(add, 0, values);
    launch(list, add, uint32_t(count / 16), 16);
    int copy[4] = {};
    OK(ze.zeCommandListAppendMemoryCopy(list, copy, values + count / 2 - 2, sizeof copy, nullptr, 0,
                                        nullptr));
    finish(list);
    for (int i = 0; i < count; i++)
        CHECK(values[i] == i + 1);
    for (int i = 0; i < 4; i++)
        CHECK(copy[i] == count / 2 - 2 + i + 1);
    CHECK(std::memcmp(range + 3 * half, range + page, half - page) == 0);
    CHECK(faults(range + 3 * half, true) && !faults(range + 3 * half, false));
    CHECK(faults(range + 2 * half, false)); // reserved, not mapped

    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_device_handle_t owner = nullptr;
    OK(ze.zeMemGetAllocProperties(context, range + 5, &properties, &owner));
    CHECK(properties.type == ZE_MEMORY_TYPE_DEVICE && properties.id && owner == device);
    OK(ze.zeMemGetAllocProperties(context, range + half, &properties, nullptr));
    CHECK(properties.type == ZE_MEMORY_TYPE_HOST);
    OK(ze.zeMemGetAllocProperties(context, range + 2 * half, &properties, nullptr));
    CHECK(properties.type == ZE_MEMORY_TYPE_UNKNOWN);
    void *base = nullptr;
    size_t size = 0;
    OK(ze.zeMemGetAddressRange(context, range + half + 1, &base, &size));
    CHECK(base == range + half && size == half);

    // Mapped pages stay when their object is destroyed, and contents stay while the object lives.
    OK(ze.zePhysicalMemDestroy(context, b));
    CHECK(values[count - 1] == count);
    OK(ze.zeVirtualMemUnmap(context, range, half));
    CHECK(faults(range, false));
    OK(ze.zeVirtualMemMap(context, range + half, half, a, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    CHECK(values[count / 2] == 1);
    OK(ze.zeVirtualMemFree(context, range, 4 * half));
    CHECK(faults(range + half, false));
    OK(ze.zePhysicalMemDestroy(context, a));
}

void read_only_announced() {
    struct {
        ze_structure_type_t stype;
        void *next;
        uint32_t capability;
    } readonly{ze_structure_type_t(0x10015), nullptr, 0};
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    properties.pNext = &readonly;
    OK(ze.zeDeviceGetProperties(device, &properties));
    CHECK(readonly.capability == 2); // enforced: a write is a fault
}

void access_attributes() {
    uint8_t *range = reserve(8 * page);
    size_t same = 0;
    CHECK(access(range, 8 * page, same) == ZE_MEMORY_ACCESS_ATTRIBUTE_NONE && same == 8 * page);
    ze_physical_mem_handle_t memory = physical(8 * page);
    OK(ze.zeVirtualMemMap(context, range, 8 * page, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
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
    OK(ze.zeVirtualMemFree(context, range, 8 * page));
    OK(ze.zePhysicalMemDestroy(context, memory));
}

void wishes() {
    uint8_t *range = reserve(16 * page);
    uint8_t *other = reserve(4 * page, range + 4 * page); // taken, so another is chosen
    CHECK(other + 4 * page <= range || other >= range + 16 * page);
    OK(ze.zeVirtualMemFree(context, range, 16 * page));
    OK(ze.zeVirtualMemFree(context, other, 4 * page));
}

void bad_input() {
    uint8_t *range = reserve(4 * page);
    ze_physical_mem_handle_t memory = physical(2 * page), none = nullptr;
    void *p = nullptr;
    size_t same = 0;
    const auto rw = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    const auto wrong_size = ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    const auto wrong_alignment = ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    const auto invalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    CHECK_RESULT(ze.zeVirtualMemReserve(context, nullptr, 0, &p), wrong_size);
    CHECK_RESULT(ze.zeVirtualMemReserve(context, nullptr, page + 1, &p), wrong_size);
    ze_physical_mem_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    CHECK_RESULT(ze.zePhysicalMemCreate(context, device, &desc, &none), wrong_size);
    desc.size = page - 1;
    CHECK_RESULT(ze.zePhysicalMemCreate(context, device, &desc, &none), wrong_size);
    desc.size = page;
    desc.flags = 1u << 7;
    CHECK_RESULT(ze.zePhysicalMemCreate(context, device, &desc, &none), ZE_RESULT_ERROR_INVALID_ENUMERATION);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range, 3 * page, memory, 0, rw), wrong_size);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range, 2 * page, memory, page, rw), wrong_size);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range, page, memory, 3 * page, rw), wrong_size);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range, page, memory, 1, rw), wrong_alignment);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range + 1, page, memory, 0, rw), wrong_alignment);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range + 3 * page, 2 * page, memory, 0, rw), invalid);
    CHECK_RESULT(ze.zeVirtualMemMap(context, range, page, memory, 0, ze_memory_access_attribute_t(3)),
                 ZE_RESULT_ERROR_INVALID_ENUMERATION);
    const auto foreign = shared<uint8_t>(page, page);
    CHECK_RESULT(ze.zeVirtualMemMap(context, foreign, page, memory, 0, rw), invalid);
    CHECK_RESULT(ze.zeVirtualMemUnmap(context, foreign, page), invalid);
    CHECK_RESULT(ze.zeVirtualMemSetAccessAttribute(context, foreign, page, rw), invalid);
    auto found = rw;
    CHECK_RESULT(ze.zeVirtualMemGetAccessAttribute(context, foreign, page, &found, &same), invalid);
    CHECK_RESULT(ze.zeVirtualMemFree(context, foreign, page), invalid);
    CHECK_RESULT(ze.zeVirtualMemFree(context, range, 2 * page), invalid);
    CHECK_RESULT(ze.zeVirtualMemFree(context, range + page, 3 * page), invalid);
    CHECK_RESULT(ze.zeMemFree(context, range), invalid);
    OK(ze.zeVirtualMemFree(context, range, 4 * page));
    CHECK_RESULT(ze.zeVirtualMemFree(context, range, 4 * page), invalid);
    OK(ze.zePhysicalMemDestroy(context, memory));
}

/// An IPC handle can be made for a mapped range, and for the handle of a physical object in place
/// of a pointer.
void shared_with_others() {
    uint8_t *range = reserve(2 * page);
    ze_physical_mem_handle_t memory = physical(2 * page);
    OK(ze.zeVirtualMemMap(context, range, 2 * page, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    for (const void *source : {static_cast<const void *>(range), reinterpret_cast<const void *>(memory)}) {
        ze_ipc_mem_handle_t handle{};
        OK(ze.zeMemGetIpcHandle(context, source, &handle));
        void *opened = nullptr;
        OK(ze.zeMemOpenIpcHandle(context, device, handle, 0, &opened));
        range[page]++;
        CHECK(std::memcmp(opened, range, 2 * page) == 0);
        OK(ze.zeMemCloseIpcHandle(context, opened));
    }
    OK(ze.zeVirtualMemFree(context, range, 2 * page));
    OK(ze.zePhysicalMemDestroy(context, memory));
}

/// Receivers map physical memory from its start, so a mapping that begins elsewhere has no handle.
void handles_of_mappings() {
    uint8_t *range = reserve(2 * page);
    ze_physical_mem_handle_t memory = physical(2 * page);
    OK(ze.zeVirtualMemMap(context, range, page, memory, page, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    OK(ze.zeVirtualMemMap(context, range + page, page, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    range[0] = 2, range[page] = 1;
    ze_ipc_mem_handle_t handle{};
    CHECK_RESULT(ze.zeMemGetIpcHandle(context, range, &handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    const std::string why = last_refusal();
    CHECK(why.find("byte " + std::to_string(page)) != std::string::npos);
    ze_external_memory_export_fd_t out{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                       ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    properties.pNext = &out;
    CHECK_RESULT(ze.zeMemGetAllocProperties(context, range, &properties, nullptr),
                 ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(ze.zeMemGetIpcHandle(context, range + page, &handle));
    void *opened = nullptr, *base = nullptr;
    size_t size = 0;
    OK(ze.zeMemOpenIpcHandle(context, device, handle, 0, &opened));
    CHECK(*static_cast<uint8_t *>(opened) == 1);
    OK(ze.zeMemGetAddressRange(context, opened, &base, &size));
    CHECK(base == opened && size == page);
    OK(ze.zeMemCloseIpcHandle(context, opened));

    // A change of access splits a mapping in two.
    OK(ze.zeVirtualMemMap(context, range, 2 * page, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    OK(ze.zeVirtualMemSetAccessAttribute(context, range + page, page, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    CHECK_RESULT(ze.zeMemGetIpcHandle(context, range + page, &handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(ze.zePhysicalMemDestroy(context, memory));
    OK(ze.zeVirtualMemFree(context, range, 2 * page));
}

} // namespace

int main(int argc, char **argv) {
    open_driver(argc, argv);
    module = load_module("kernels.spv").release();
    list = immediate_list().release();
    OK(ze.zeVirtualMemQueryPageSize(context, device, 100, &page));
    CHECK(page >= 4096 && (page & (page - 1)) == 0);
    kernel_over_two_objects();
    read_only_announced();
    access_attributes();
    wishes();
    bad_input();
    shared_with_others();
    handles_of_mappings();
    destroy(list);
    destroy(module);
    std::puts("ok");
}

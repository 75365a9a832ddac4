// SPDX-License-Identifier: Apache-2.0
// Memory as file descriptors: exported, and imported by each call that can do that.
#include <fcntl.h>
#include <sys/mman.h>

#include "ze_test.h"

namespace {

constexpr size_t bytes = 20000; // no whole number of pages
const ze_device_mem_alloc_desc_t device_desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};

/// The calls that may import a file descriptor. Each maps the memory and returns its address.
using Importer = ze_result_t (*)(const ze_external_memory_import_fd_t &, void *&);
const Importer importers[] = {
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &in, 0, 0};
        return ze.zeMemAllocDevice(context, &desc, bytes, 0, device, &p);
    },
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &in, 0};
        return ze.zeMemAllocHost(context, &desc, bytes, 0, &p);
    },
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &in, 0, 0};
        return ze.zeMemAllocShared(context, &desc, &host_desc, bytes, 0, device, &p);
    },
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &in, 0};
        return ze.zeMemAllocShared(context, &device_desc, &desc, bytes, 0, device, &p);
    },
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        auto desc = of_type<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, &in);
        OK(ze.zeVirtualMemQueryPageSize(context, device, bytes, &desc.size));
        ze_physical_mem_handle_t memory = nullptr;
        const ze_result_t result = ze.zePhysicalMemCreate(context, device, &desc, &memory);
        if (result != ZE_RESULT_SUCCESS)
            return result;
        OK(ze.zeVirtualMemReserve(context, nullptr, desc.size, &p));
        OK(ze.zeVirtualMemMap(context, p, desc.size, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        return ze.zePhysicalMemDestroy(context, memory);
    },
    [](const ze_external_memory_import_fd_t &in, void *&p) {
        ze_ipc_mem_handle_t handle{};
        const ze_result_t result =
            ze.zeMemGetIpcHandleFromFileDescriptorExp(context, uint64_t(in.fd), &handle);
        return result == ZE_RESULT_SUCCESS ? ze.zeMemOpenIpcHandle(context, device, handle, 0, &p) : result;
    },
};

ze_result_t create_image(const void *next) {
    auto desc = of_type<ze_image_desc_t>(ZE_STRUCTURE_TYPE_IMAGE_DESC, next);
    desc.type = ZE_IMAGE_TYPE_2D;
    desc.format = {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_G,      ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A};
    desc.width = desc.height = 16;
    ze_image_handle_t image = nullptr;
    return ze.zeImageCreate(context, device, &desc, &image);
}

/// Exported memory is the same memory after each kind of import. Any other descriptor is refused.
TEST(imports) {
    ze_external_memory_export_desc_t wanted{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, nullptr,
                                            ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &wanted, 0, 0};
    char *memory = static_cast<char *>(got(ze.zeMemAllocDevice, context, &desc, bytes, 0, device));
    ze_external_memory_export_fd_t out{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                       ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, -1};
    properties_of(memory, &out);
    ze_external_memory_import_fd_t in{ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, nullptr,
                                      ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, out.fd};
    const int own = in.fd;
    char value = 0;
    void *last = nullptr;
    for (const Importer import : importers) {
        void *again = nullptr;
        OK(import(in, again));
        CHECK(again && again != memory);
        *memory = ++value;
        CHECK(*static_cast<char *>(again) == value);
        last = again;
    }
    memory[bytes - 1] = value;
    OK(ze.zeMemFree(context, memory)); // the importers have the memory
    CHECK(static_cast<char *>(last)[bytes - 1] == value);
    REFUSED(UNSUPPORTED_FEATURE, create_image(&in));
    SAYS("external memory");

    constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    auto sealed = [](const char *name, int seals) {
        const int fd = memfd_create(name, MFD_ALLOW_SEALING);
        CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
        return fd;
    };
    const std::string path = "/proc/self/fd/" + std::to_string(own);
    for (const int foreign : {sealed("other", F_SEAL_SHRINK), sealed("other", all_seals),
                              sealed("ze_cpu", F_SEAL_SHRINK), open(path.c_str(), O_RDONLY | O_CLOEXEC),
                              open(path.c_str(), O_PATH | O_CLOEXEC), open("/dev/null", O_RDWR), -1}) {
        in.fd = foreign;
        for (const Importer import : importers) {
            void *p = nullptr;
            REFUSED(INVALID_ARGUMENT, import(in, p));
            SAYS("file descriptor " + std::to_string(foreign));
        }
        close(foreign);
    }
    in.fd = own;

    ze_external_memory_import_fd_t second = in;
    second.fd = dup(own);
    const ze_device_mem_alloc_desc_t on_device{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &in, 0, 0};
    const ze_host_mem_alloc_desc_t on_host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &second, 0};
    void *p = nullptr;
    REFUSED(INVALID_ARGUMENT, ze.zeMemAllocShared(context, &on_device, &on_host, bytes, 0, device, &p));
    SAYS("two file descriptors");
    REFUSED(INVALID_ARGUMENT, ze.zeMemAllocDevice(context, &on_device, bytes + (1 << 20), 0, device, &p));
    SAYS(std::to_string(bytes + (1 << 20)));
    close(second.fd);
    in.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_WIN32;
    REFUSED(UNSUPPORTED_ENUMERATION, ze.zeMemAllocDevice(context, &on_device, bytes, 0, device, &p));
    wanted.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    REFUSED(UNSUPPORTED_ENUMERATION, ze.zeMemAllocDevice(context, &desc, bytes, 0, device, &p));
    close(own); // the program's own; the allocations have theirs
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "device/handles.h"
#include "external_memory.h"
#include "opencl/runtime.h"
#include "stream/all_streams.h"

namespace ze_cpu {
namespace {

constexpr size_t most_alignment = size_t(1) << 26;
constexpr size_t huge_page = size_t(2) << 20;

struct Registry {
    std::shared_mutex mutex;
    std::map<uintptr_t, Allocation> by_base;
};
Registry &registry() {
    // Leaked: static destructors of the program may free memory.
    static Registry *leaked = new Registry;
    return *leaked;
}

bool relaxed_limits(const void *next) {
    auto *limits = find_next<ze_relaxed_allocation_limits_exp_desc_t>(
        next, ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
    return limits && limits->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
}

void add(Registry &r, Allocation allocation) {
    std::unique_lock lock(r.mutex);
    allocation.id = next_allocation_id();
    forget_atomic_access(allocation.base, allocation.size);
    r.by_base[allocation.base] = std::move(allocation);
}

/// Allocates whole pages, so that a file can be mapped over them later (share_allocation). `block`
/// receives what free() takes.
void *allocate_pages(size_t size, size_t alignment, void *&block) {
    size = round_to_pages(size);
    if (size < 2 * huge_page && alignment <= page_size()) {
        // Not posix_memalign: it cuts off the head of blocks that malloc maps, so that the same
        // size is mapped anew each time (9 us a megabyte). Plain malloc soon keeps such blocks for
        // reuse.
        const size_t slack = page_size() - alignof(max_align_t);
        block = malloc(size + slack);
        const auto address = reinterpret_cast<uintptr_t>(block);
        return block ? static_cast<char *>(block) + (round_to_pages(address) - address) : nullptr;
    }
    const bool huge = size >= 2 * huge_page;
    if (posix_memalign(&block, std::max({alignment, page_size(), huge ? huge_page : size_t(0)}), size) != 0)
        return nullptr;
    if (huge) // kernels read weights in strides of kilobytes: huge pages spare the TLB
        madvise(block, size / huge_page * huge_page, MADV_HUGEPAGE);
    return block;
}

/// Allocates memory of this type. The chains are those of the call's descriptors.
ze_result_t allocate(ze_memory_type_t type, std::initializer_list<const void *> chains, size_t size,
                     size_t alignment, ze_device_handle_t device, void **pointer) {
    const bool is_relaxed = std::any_of(chains.begin(), chains.end(), relaxed_limits);
    const size_t limit = is_relaxed ? runtime().info.global_size : runtime().info.max_alloc_size;
    if (size == 0 || size > limit)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    if ((alignment & (alignment - 1)) != 0 || alignment > most_alignment)
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    const ExternalMemory external(chains);
    if (external.is_asked_for()) {
        if (alignment > page_size())
            return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
        *pointer = map_allocation(external.file(size), size, type, device, Allocation::mapped);
        return ZE_RESULT_SUCCESS;
    }
    void *block = nullptr, *memory = allocate_pages(size, alignment, block);
    if (!memory)
        return type == ZE_MEMORY_TYPE_DEVICE ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                                             : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    try {
        add(registry(),
            {reinterpret_cast<uintptr_t>(memory), size, type, 0, device, nullptr, Allocation::heap, block});
    } catch (...) {
        free(block);
        throw;
    }
    *pointer = memory;
    return ZE_RESULT_SUCCESS;
}

/// Gives the memory of an allocation back to malloc or to the system.
void give_back(const Allocation &allocation) {
    void *memory = reinterpret_cast<void *>(allocation.base);
    if (allocation.origin != Allocation::heap) {
        munmap(memory, round_to_pages(allocation.size));
        return;
    }
    // malloc will use the pages again and must not find a shared file there, so private memory
    // replaces it. If the system has no memory for that, the pages are lost.
    if (allocation.file && mmap(memory, round_to_pages(allocation.size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return;
    free(allocation.block);
}

ze_result_t release(const void *pointer, bool of_ipc) {
    Registry &r = registry();
    Allocation allocation;
    {
        std::unique_lock lock(r.mutex);
        auto found = r.by_base.find(reinterpret_cast<uintptr_t>(pointer));
        if (found == r.by_base.end() || (found->second.origin == Allocation::from_ipc) != of_ipc)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        allocation = std::move(found->second);
        r.by_base.erase(found);
    }
    forget_atomic_access(allocation.base, allocation.size);
    give_back(allocation);
    return ZE_RESULT_SUCCESS;
}

/// The entry of r.by_base that contains the address, or its end.
std::map<uintptr_t, Allocation>::iterator find_in(Registry &r, const void *pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    auto found = entry_below(r.by_base, address);
    const auto none = r.by_base.end();
    return found != none && address - found->second.base < found->second.size ? found : none;
}

/// Writes the contents of an allocation into the file and maps the file in their place.
void move_into(const MemoryFile &file, const Allocation &allocation) {
    auto *from = reinterpret_cast<const char *>(allocation.base);
    for (size_t done = 0; done < allocation.size;) {
        const ssize_t written = pwrite(file.descriptor(), from + done, allocation.size - done, off_t(done));
        if (written > 0)
            done += size_t(written);
        else if (errno != EINTR)
            throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (!file.map(0, file.size(), PROT_READ | PROT_WRITE, reinterpret_cast<void *>(allocation.base)))
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/// Duplicates the file descriptor of an allocation, for a program that asks for it with the
/// allocation's properties. The program owns the duplicate.
ze_result_t export_descriptor(const Allocation &allocation, ze_external_memory_export_fd_t &to) {
    if (to.flags != ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
        return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    if (!allocation.file)
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "the memory was not allocated for export: its descriptor's chain has no "
                      "ze_external_memory_export_desc_t");
    check_shareable(allocation);
    to.fd = fcntl(allocation.file->descriptor(), F_DUPFD_CLOEXEC, 3);
    return to.fd < 0 ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_SUCCESS;
}

} // namespace

uint64_t next_allocation_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

bool find_allocation(const void *pointer, Allocation &found) {
    Registry &r = registry();
    {
        std::shared_lock lock(r.mutex);
        if (auto there = find_in(r, pointer); there != r.by_base.end()) {
            found = there->second;
            return true;
        }
    }
    return find_mapping(pointer, found);
}

void check_shareable(const Allocation &allocation) {
    if (allocation.offset != 0)
        throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the memory is mapped from byte " + std::to_string(allocation.offset) +
                         " of its physical memory on, but a receiver gets physical memory from its start: "
                         "share the handle of the physical memory");
}

void *map_allocation(std::shared_ptr<MemoryFile> file, size_t size, ze_memory_type_t type,
                     ze_device_handle_t device, Allocation::Origin origin) {
    void *memory = file->map(0, round_to_pages(size), PROT_READ | PROT_WRITE);
    if (!memory)
        throw ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    try {
        add(registry(),
            {reinterpret_cast<uintptr_t>(memory), size, type, 0, device, std::move(file), origin, nullptr});
    } catch (...) {
        munmap(memory, round_to_pages(size));
        throw;
    }
    return memory;
}

std::shared_ptr<MemoryFile> share_allocation(const void *pointer) {
    Allocation found;
    if (!find_allocation(pointer, found) || found.file)
        return found.file;
    std::shared_ptr<MemoryFile> file = MemoryFile::create(found.size);
    // The registry is locked only when all streams are paused: a kernel that still runs may wait
    // for the host, and the host may have to allocate memory first.
    run_while_paused([&] {
        Registry &r = registry();
        std::unique_lock lock(r.mutex);
        auto there = r.by_base.find(found.base);
        if (there == r.by_base.end() || there->second.id != found.id) {
            file = nullptr; // freed meanwhile
            return;
        }
        if (there->second.file) {
            file = there->second.file; // another thread made it
            return;
        }
        move_into(*file, there->second);
        there->second.file = file;
    });
    return file;
}

ze_result_t unmap_ipc(const void *pointer) {
    return release(pointer, true);
}

ze_result_t zeMemAllocShared(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                             const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
                             ze_device_handle_t hDevice, void **pptr) {
    need_handles(hContext);
    need_pointers(device_desc, host_desc, pptr);
    return allocate(ZE_MEMORY_TYPE_SHARED, {device_desc->pNext, host_desc->pNext}, size, alignment, hDevice,
                    pptr);
}

ze_result_t zeMemAllocDevice(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                             size_t size, size_t alignment, ze_device_handle_t hDevice, void **pptr) {
    need_handles(hContext, hDevice);
    need_pointers(device_desc, pptr);
    return allocate(ZE_MEMORY_TYPE_DEVICE, {device_desc->pNext}, size, alignment, hDevice, pptr);
}

ze_result_t zeMemAllocHost(ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t *host_desc,
                           size_t size, size_t alignment, void **pptr) {
    need_handles(hContext);
    need_pointers(host_desc, pptr);
    return allocate(ZE_MEMORY_TYPE_HOST, {host_desc->pNext}, size, alignment, nullptr, pptr);
}

ze_result_t zeMemFree(ze_context_handle_t hContext, void *ptr) {
    need_handles(hContext);
    need_pointers(ptr);
    return release(ptr, false);
}

ze_result_t zeMemFreeExt(ze_context_handle_t hContext, const ze_memory_free_ext_desc_t *pMemFreeDesc,
                         void *ptr) {
    need_handles(hContext);
    need_pointers(pMemFreeDesc, ptr);
    if (pMemFreeDesc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    Allocation found;
    if (!find_allocation(ptr, found))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (pMemFreeDesc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE)
        if (ze_result_t result = synchronize_all(); result != ZE_RESULT_SUCCESS)
            return result;
    return release(ptr, false);
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t hContext, const void *ptr,
                                    ze_memory_allocation_properties_t *pMemAllocProperties,
                                    ze_device_handle_t *phDevice) {
    need_handles(hContext);
    need_pointers(ptr, pMemAllocProperties);
    Allocation found; // stays of unknown type for memory that is not ours
    find_allocation(ptr, found);
    pMemAllocProperties->type = found.type;
    pMemAllocProperties->id = found.id;
    pMemAllocProperties->pageSize = found.type == ZE_MEMORY_TYPE_UNKNOWN ? 0 : page_size();
    if (phDevice)
        *phDevice = found.device;
    auto *wanted = find_next<ze_external_memory_export_fd_t>(pMemAllocProperties->pNext,
                                                             ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
    if (find_next<ze_base_desc_t>(pMemAllocProperties->pNext, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_WIN32))
        return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
    if (!wanted)
        return ZE_RESULT_SUCCESS;
    return export_descriptor(found, *wanted);
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t hContext, const void *ptr, void **pBase, size_t *pSize) {
    need_handles(hContext);
    need_pointers(ptr);
    Allocation found;
    if (!find_allocation(ptr, found))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (pBase)
        *pBase = reinterpret_cast<void *>(found.base);
    if (pSize)
        *pSize = found.size;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu

// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>

#include <sys/mman.h>
#include <unistd.h>

#include "border.h"
#include "driver.h"
#include "entry_points.h"
#include "runtime.h"
#include "submission.h"

namespace ze_cpu {
namespace {

constexpr size_t least_alignment = 64; // a cache line, and the widest vector
constexpr size_t most_alignment = size_t(1) << 26;
constexpr size_t huge_page = size_t(2) << 20;

struct Registry {
    std::shared_mutex mutex;
    std::map<uintptr_t, Allocation> by_base;
    uint64_t next_id = 1;
};
Registry &registry() {
    static Registry *leaked = new Registry; // memory may be freed by static destructors of the program
    return *leaked;
}

bool relaxed_limits(const void *next) {
    for (auto *p = static_cast<const ze_base_desc_t *>(next); p;
         p = static_cast<const ze_base_desc_t *>(p->pNext))
        if (p->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC)
            return reinterpret_cast<const ze_relaxed_allocation_limits_exp_desc_t *>(p)->flags &
                   ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
    return false;
}

ze_result_t allocate(ze_memory_type_t type, const void *desc_next, size_t size, size_t alignment,
                     ze_device_handle_t device, void **pointer) {
    const size_t limit =
        relaxed_limits(desc_next) ? runtime().info.global_size : runtime().info.max_alloc_size;
    if (size == 0 || size > limit)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    if ((alignment & (alignment - 1)) != 0 || alignment > most_alignment)
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    return guarded([&]() -> ze_result_t {
        const bool huge = size >= 2 * huge_page;
        void *memory = nullptr;
        if (posix_memalign(&memory, std::max({alignment, least_alignment, huge ? huge_page : size_t(0)}),
                           size) != 0)
            return type == ZE_MEMORY_TYPE_DEVICE ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                                                 : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        if (huge) // weights are read in strides of kilobytes: large pages spare the TLB
            madvise(memory, size / huge_page * huge_page, MADV_HUGEPAGE);
        Registry &r = registry();
        std::unique_lock lock(r.mutex);
        try {
            const auto base = reinterpret_cast<uintptr_t>(memory);
            r.by_base[base] = {base, size, type, r.next_id++, device};
        } catch (...) {
            free(memory);
            throw;
        }
        *pointer = memory;
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t release(void *pointer) {
    Registry &r = registry();
    {
        std::unique_lock lock(r.mutex);
        if (r.by_base.erase(reinterpret_cast<uintptr_t>(pointer)) == 0)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    free(pointer);
    return ZE_RESULT_SUCCESS;
}

} // namespace

bool find_allocation(const void *pointer, Allocation &found) {
    Registry &r = registry();
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    std::shared_lock lock(r.mutex);
    auto after = r.by_base.upper_bound(address);
    if (after == r.by_base.begin())
        return false;
    const Allocation &candidate = std::prev(after)->second;
    if (address - candidate.base >= candidate.size)
        return false;
    found = candidate;
    return true;
}

ze_result_t zeMemAllocShared(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                             const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
                             ze_device_handle_t hDevice, void **pptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(device_desc);
    ZE_CPU_NEED_POINTER(host_desc);
    ZE_CPU_NEED_POINTER(pptr);
    return allocate(ZE_MEMORY_TYPE_SHARED, device_desc->pNext, size, alignment, hDevice, pptr);
}

ze_result_t zeMemAllocDevice(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
                             size_t size, size_t alignment, ze_device_handle_t hDevice, void **pptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_HANDLE(hDevice);
    ZE_CPU_NEED_POINTER(device_desc);
    ZE_CPU_NEED_POINTER(pptr);
    return allocate(ZE_MEMORY_TYPE_DEVICE, device_desc->pNext, size, alignment, hDevice, pptr);
}

ze_result_t zeMemAllocHost(ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t *host_desc,
                           size_t size, size_t alignment, void **pptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(host_desc);
    ZE_CPU_NEED_POINTER(pptr);
    return allocate(ZE_MEMORY_TYPE_HOST, host_desc->pNext, size, alignment, nullptr, pptr);
}

ze_result_t zeMemFree(ze_context_handle_t hContext, void *ptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(ptr);
    return release(ptr);
}

ze_result_t zeMemFreeExt(ze_context_handle_t hContext, const ze_memory_free_ext_desc_t *pMemFreeDesc,
                         void *ptr) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(pMemFreeDesc);
    ZE_CPU_NEED_POINTER(ptr);
    if (pMemFreeDesc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    Allocation found;
    if (!find_allocation(ptr, found))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (pMemFreeDesc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE)
        if (ze_result_t result = guarded(synchronize_all); result != ZE_RESULT_SUCCESS)
            return result;
    return release(ptr);
}

ze_result_t zeMemGetAllocProperties(ze_context_handle_t hContext, const void *ptr,
                                    ze_memory_allocation_properties_t *pMemAllocProperties,
                                    ze_device_handle_t *phDevice) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(ptr);
    ZE_CPU_NEED_POINTER(pMemAllocProperties);
    Allocation found; // stays of unknown type for memory that is not ours
    find_allocation(ptr, found);
    pMemAllocProperties->type = found.type;
    pMemAllocProperties->id = found.id;
    pMemAllocProperties->pageSize =
        found.type == ZE_MEMORY_TYPE_UNKNOWN ? 0 : uint64_t(sysconf(_SC_PAGESIZE));
    if (phDevice)
        *phDevice = found.device;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAddressRange(ze_context_handle_t hContext, const void *ptr, void **pBase, size_t *pSize) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_POINTER(ptr);
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

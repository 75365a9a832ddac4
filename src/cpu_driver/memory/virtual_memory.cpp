// SPDX-License-Identifier: Apache-2.0
//
// Reserved address ranges, and physical memory that is mapped into them. Physical memory is a
// memfd, so the same pages may be mapped in several places.
#include "memory.h"

#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include <sys/mman.h>

#include "border/border.h"
#include "border/entry_points.h"
#include "external_memory.h"
#include "opencl/runtime.h"

struct _ze_physical_mem_handle_t {
    std::shared_ptr<ze_cpu::MemoryFile> file;
    ze_memory_type_t type;
    ze_device_handle_t device;
};

namespace ze_cpu {
namespace {

/// A part of a reserved range whose pages have the same access and mapping.
struct Piece {
    size_t size = 0;
    ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
    std::shared_ptr<MemoryFile> file; // null: reserved only
    size_t offset = 0;                // of the piece in its file
    ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
    ze_device_handle_t device = nullptr;
    uint64_t id = 0;
};

struct State {
    std::mutex mutex;
    std::map<uintptr_t, size_t> ranges; // reserved ranges: size by start
    std::map<uintptr_t, Piece> pieces;  // of all ranges, by start; they leave no gaps in a range
    std::set<const void *> physical;    // handles that exist
};
State &state() {
    static State *leaked = new State;
    return *leaked;
}

bool aligned(uintptr_t value) {
    return value % page_size() == 0;
}

/// Checks the address and size of a call: both must be multiples of the page size. Throws ze_result_t.
void check_range(const void *pointer, size_t size) {
    need_pointers(pointer);
    if (size == 0 || !aligned(size))
        throw ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    if (!aligned(reinterpret_cast<uintptr_t>(pointer)))
        throw ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
}

/// The reserved range that contains all of these bytes, or the end.
std::map<uintptr_t, size_t>::iterator find_range(State &s, uintptr_t start, size_t size) {
    auto range = entry_below(s.ranges, start);
    if (range == s.ranges.end())
        return range;
    const size_t offset = start - range->first;
    return offset < range->second && size <= range->second - offset ? range : s.ranges.end();
}

/// Splits the piece that contains this address, so that one starts there.
void split(State &s, uintptr_t address) {
    auto piece = entry_below(s.pieces, address);
    if (piece == s.pieces.end())
        return;
    const size_t head = address - piece->first;
    if (head == 0 || head >= piece->second.size)
        return;
    Piece tail = piece->second;
    tail.size -= head;
    tail.offset += head;
    s.pieces.emplace(address, std::move(tail));
    piece->second.size = head;
}

/// Makes the range consist of whole pieces. Only this can run out of memory, so that a change that
/// follows is complete.
void cut_out(State &s, uintptr_t start, size_t size) {
    split(s, start);
    split(s, start + size);
}

/// Changes each piece of a range that was cut out.
template <class Change> void change_pieces(State &s, uintptr_t start, size_t size, Change change) {
    for (auto piece = s.pieces.lower_bound(start); piece != s.pieces.end() && piece->first < start + size;
         ++piece)
        change(piece->second);
}

int protection(ze_memory_access_attribute_t access) {
    switch (access) {
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE:
        return PROT_READ | PROT_WRITE;
    case ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY:
        return PROT_READ;
    default:
        return PROT_NONE;
    }
}

constexpr int reserve_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Calls change(state, start) under the lock if a reserved range contains all of these bytes, which
/// then consist of whole pieces.
template <class Change> ze_result_t change_range(const void *ptr, size_t size, Change change) {
    State &s = state();
    const auto start = reinterpret_cast<uintptr_t>(ptr);
    std::lock_guard lock(s.mutex);
    if (find_range(s, start, size) == s.ranges.end())
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    cut_out(s, start, size);
    return change(s, start);
}

} // namespace

bool find_mapping(const void *pointer, Allocation &found) {
    State &s = state();
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard lock(s.mutex);
    auto piece = entry_below(s.pieces, address);
    if (piece == s.pieces.end() || address - piece->first >= piece->second.size || !piece->second.file)
        return false;
    const Piece &p = piece->second;
    found = {piece->first, p.size,  p.type, p.id, p.device, p.file, Allocation::virtual_range,
             nullptr,      p.offset};
    return true;
}

std::shared_ptr<MemoryFile> find_physical(const void *handle) {
    State &s = state();
    std::lock_guard lock(s.mutex);
    return s.physical.count(handle) ? static_cast<const _ze_physical_mem_handle_t *>(handle)->file : nullptr;
}

ze_result_t zeVirtualMemQueryPageSize(ze_context_handle_t hContext, ze_device_handle_t hDevice, size_t,
                                      size_t *pagesize) {
    need_handles(hContext, hDevice);
    need_pointers(pagesize);
    *pagesize = page_size(); // for any size, so there is no reason to refuse 0
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeVirtualMemReserve(ze_context_handle_t hContext, const void *pStart, size_t size, void **pptr) {
    need_handles(hContext);
    need_pointers(pptr);
    if (size == 0 || !aligned(size))
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    State &s = state();
    std::lock_guard lock(s.mutex);
    // mmap takes the address as a hint.
    void *memory = mmap(const_cast<void *>(pStart), size, PROT_NONE, reserve_flags, -1, 0);
    if (memory == MAP_FAILED)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    const auto start = reinterpret_cast<uintptr_t>(memory);
    try {
        s.ranges[start] = size;
        s.pieces[start].size = size;
    } catch (...) {
        s.ranges.erase(start);
        munmap(memory, size);
        throw;
    }
    *pptr = memory;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeVirtualMemFree(ze_context_handle_t hContext, const void *ptr, size_t size) {
    need_handles(hContext);
    check_range(ptr, size);
    State &s = state();
    const auto start = reinterpret_cast<uintptr_t>(ptr);
    std::lock_guard lock(s.mutex);
    auto range = s.ranges.find(start);
    if (range == s.ranges.end() || range->second != size)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    s.ranges.erase(range);
    s.pieces.erase(s.pieces.lower_bound(start), s.pieces.lower_bound(start + size));
    munmap(const_cast<void *>(ptr), size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zePhysicalMemCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                ze_physical_mem_desc_t *desc, ze_physical_mem_handle_t *phPhysicalMemory) {
    need_handles(hContext);
    need_pointers(desc, phPhysicalMemory);
    if (desc->flags & ~(physical_mem_on_device | physical_mem_on_host))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const bool on_host = desc->flags & physical_mem_on_host;
    if (!on_host)
        need_handles(hDevice);
    if (desc->size == 0 || !aligned(desc->size) || desc->size > runtime().info.global_size)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    auto physical = std::make_unique<_ze_physical_mem_handle_t>();
    *physical = {ExternalMemory({desc->pNext}).file(desc->size),
                 on_host ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE, hDevice};
    std::lock_guard lock(state().mutex);
    state().physical.insert(physical.get());
    *phPhysicalMemory = physical.release();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zePhysicalMemDestroy(ze_context_handle_t hContext, ze_physical_mem_handle_t hPhysicalMemory) {
    need_handles(hContext, hPhysicalMemory);
    {
        std::lock_guard lock(state().mutex);
        state().physical.erase(hPhysicalMemory);
    }
    delete hPhysicalMemory; // pages stay where they are mapped
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeVirtualMemMap(ze_context_handle_t hContext, const void *ptr, size_t size,
                            ze_physical_mem_handle_t hPhysicalMemory, size_t offset,
                            ze_memory_access_attribute_t access) {
    need_handles(hContext, hPhysicalMemory);
    check_range(ptr, size);
    if (access > ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (!aligned(offset))
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    const _ze_physical_mem_handle_t &physical = *hPhysicalMemory;
    if (offset > physical.file->size() || size > physical.file->size() - offset)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    return change_range(ptr, size, [&](State &s, uintptr_t start) {
        if (!physical.file->map(offset, size, protection(access), const_cast<void *>(ptr)))
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        const auto first = s.pieces.find(start);
        first->second = {size,          access,          physical.file,       offset,
                         physical.type, physical.device, next_allocation_id()};
        s.pieces.erase(std::next(first), s.pieces.lower_bound(start + size));
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeVirtualMemUnmap(ze_context_handle_t hContext, const void *ptr, size_t size) {
    need_handles(hContext);
    check_range(ptr, size);
    return change_range(ptr, size, [&](State &s, uintptr_t start) {
        if (mmap(const_cast<void *>(ptr), size, PROT_NONE, reserve_flags | MAP_FIXED, -1, 0) == MAP_FAILED)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        change_pieces(s, start, size, [](Piece &piece) { piece = Piece{piece.size, {}, {}, {}, {}, {}, 0}; });
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeVirtualMemSetAccessAttribute(ze_context_handle_t hContext, const void *ptr, size_t size,
                                           ze_memory_access_attribute_t access) {
    need_handles(hContext);
    check_range(ptr, size);
    if (access > ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return change_range(ptr, size, [&](State &s, uintptr_t start) {
        if (mprotect(const_cast<void *>(ptr), size, protection(access)) != 0)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        change_pieces(s, start, size, [access](Piece &piece) { piece.access = access; });
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeVirtualMemGetAccessAttribute(ze_context_handle_t hContext, const void *ptr, size_t size,
                                           ze_memory_access_attribute_t *access, size_t *outSize) {
    need_handles(hContext);
    need_pointers(access, outSize);
    check_range(ptr, size);
    State &s = state();
    const auto start = reinterpret_cast<uintptr_t>(ptr);
    std::lock_guard lock(s.mutex);
    auto range = find_range(s, start, size);
    if (range == s.ranges.end())
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    auto piece = entry_below(s.pieces, start);
    *access = piece->second.access;
    uintptr_t end = start;
    for (; end < start + size && piece->second.access == *access; ++piece) {
        end = piece->first + piece->second.size;
        if (end == range->first + range->second)
            break;
    }
    *outSize = std::min(end - start, size);
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu

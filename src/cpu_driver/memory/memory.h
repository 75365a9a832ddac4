// SPDX-License-Identifier: Apache-2.0
//
// USM allocations, and sharing them with other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

#include <level_zero/ze_api.h>

#include "process/memory_file.h"

namespace ze_cpu {

/// One USM allocation. Host, device and shared memory are the same ordinary memory of the process;
/// `type` only remembers what the program asked for.
struct Allocation {
    uintptr_t base = 0;
    size_t size = 0;
    ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
    uint64_t id = 0;
    ze_device_handle_t device = nullptr;
    std::shared_ptr<MemoryFile> file; // the file that is mapped there, if any
    enum Origin { heap, mapped, from_ipc, virtual_range } origin = heap;
    void *block = nullptr; // heap only: the pointer that free() takes
    size_t offset = 0;     // virtual_range only: where in the file it begins
};

/// A number for an allocation, a mapping or an image that no other one of this process has or had.
uint64_t next_allocation_id();

/// Finds the allocation or the mapping in a reserved range that contains this address. Returns
/// false for memory that is not of this driver.
bool find_allocation(const void *pointer, Allocation &found);

/// Maps a file as a new allocation and returns its address. Throws ze_result_t.
void *map_allocation(std::shared_ptr<MemoryFile> file, size_t size, ze_memory_type_t type,
                     ze_device_handle_t device, Allocation::Origin origin);

/// The file behind an allocation, which other processes can map. Heap memory gets one at the first
/// call: its contents move into the file, at the same address, while no kernel runs. Null if the
/// address is not in an allocation.
std::shared_ptr<MemoryFile> share_allocation(const void *pointer);

/// Refuses to hand out the file of this memory if that begins with other bytes than the memory does.
/// Receivers map files from their start. Throws ze_result_t, with a sentence.
void check_shareable(const Allocation &allocation);

/// Unmaps and forgets an allocation that was mapped from an IPC handle.
ze_result_t unmap_ipc(const void *pointer);

/// The mapping at this address of a reserved range, described as an allocation. Returns false if
/// nothing is mapped there.
bool find_mapping(const void *pointer, Allocation &found);

/// The file of the physical memory object with this handle. Null if there is no such object.
std::shared_ptr<MemoryFile> find_physical(const void *handle);

/// The entry of a map from first addresses that is the last one not above this address, or the end.
auto entry_below(auto &map, uintptr_t address) {
    const auto after = map.upper_bound(address);
    return after == map.begin() ? map.end() : std::prev(after);
}

/// Forgets the attributes of atomic access of memory that is freed. Does not throw.
void forget_atomic_access(uintptr_t base, size_t size) noexcept;

} // namespace ze_cpu

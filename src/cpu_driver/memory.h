// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <level_zero/ze_api.h>

#include "memory_file.h"

namespace ze_cpu {

/// One USM allocation. Host, device and shared memory are the same ordinary memory; the kind is only
/// remembered.
struct Allocation {
    uintptr_t base = 0;
    size_t size = 0;
    ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
    uint64_t id = 0;
    ze_device_handle_t device = nullptr;
    std::shared_ptr<MemoryFile> file; // what is mapped there; null for memory of malloc
    enum Origin { heap, mapped, from_ipc, virtual_range } origin = heap;
    void *block = nullptr; // of malloc, if it comes from there
};

/// The allocation or mapped virtual range that holds this address, also an interior one. False for memory
/// that is not ours.
bool find_allocation(const void *pointer, Allocation &found);

/// Maps a file as an allocation of its own. Throws ze_result_t.
void *map_allocation(std::shared_ptr<MemoryFile> file, size_t size, ze_memory_type_t type,
                     ze_device_handle_t device, Allocation::Origin origin);

/// The file behind an allocation, for other processes. Memory that has none yet gets one: its contents move
/// into it, at the same address, while no kernel runs. Null if the address is not in an allocation.
std::shared_ptr<MemoryFile> share_allocation(const void *pointer);

/// Ends an allocation that was mapped from an IPC handle.
ze_result_t unmap_ipc(const void *pointer);

} // namespace ze_cpu

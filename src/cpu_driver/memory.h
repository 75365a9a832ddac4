// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

namespace ze_cpu {

/// One USM allocation. Host, device and shared memory are the same ordinary memory; the kind is only
/// remembered.
struct Allocation {
    uintptr_t base = 0;
    size_t size = 0;
    ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
    uint64_t id = 0;
    ze_device_handle_t device = nullptr;
};

/// The allocation that holds this address, also an interior one. False for memory that is not ours.
bool find_allocation(const void *pointer, Allocation &found);

} // namespace ze_cpu

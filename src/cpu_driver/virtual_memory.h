// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <level_zero/ze_api.h>

#include "memory.h"

namespace ze_cpu {

/// What is mapped at this address of a reserved range, as an allocation. False if nothing is.
bool find_mapping(const void *pointer, Allocation &found);

/// The file of a physical memory object whose handle this may be; null if it is none.
std::shared_ptr<MemoryFile> find_physical(const void *handle);

} // namespace ze_cpu

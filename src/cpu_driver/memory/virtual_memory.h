// SPDX-License-Identifier: Apache-2.0
//
// Memory that is mapped into reserved address ranges.
#pragma once

#include <memory>

#include <level_zero/ze_api.h>

#include "memory.h"

namespace ze_cpu {

/// The mapping at this address of a reserved range, described as an allocation. Returns false if
/// nothing is mapped there.
bool find_mapping(const void *pointer, Allocation &found);

/// The file of the physical memory object with this handle. Null if there is no such object.
std::shared_ptr<MemoryFile> find_physical(const void *handle);

} // namespace ze_cpu

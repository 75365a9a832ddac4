// SPDX-License-Identifier: Apache-2.0
//
// Attributes of atomic access, which programs set for ranges of memory. They change nothing: host and device
// have the same atomics on all memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ze_cpu {

/// Forgets the attributes of memory that is freed. Does not throw.
void forget_atomic_access(uintptr_t base, size_t size) noexcept;

} // namespace ze_cpu

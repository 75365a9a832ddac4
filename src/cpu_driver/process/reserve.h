// SPDX-License-Identifier: Apache-2.0
//
// Memory that is kept for the OpenCL runtime, which ends the process where an allocation of its own fails
// in the middle of a command.
#pragma once

#include <cstddef>

namespace ze_cpu {

/// Whether the reserve is whole. Tries to make it so.
bool has_reserve() noexcept;

// For the runtime's imports: as the functions of the C library, but with the reserve where these fail.
void *reserve_malloc(size_t size);
void *reserve_calloc(size_t count, size_t size);
void *reserve_realloc(void *old, size_t size);
void *reserve_aligned_alloc(size_t alignment, size_t size);
void *reserve_memalign(size_t alignment, size_t size);
int reserve_posix_memalign(void **to, size_t alignment, size_t size);

} // namespace ze_cpu

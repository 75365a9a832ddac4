// SPDX-License-Identifier: Apache-2.0
// What primitives of every kind need to launch and build kernels.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

// items / per_group, rounded up. Throws unimplemented if a launch cannot have as many groups. what: the
// subject of the sentence.
zemm_dim_t checked_ceil_div(zemm_dim_t items, zemm_dim_t per_group, const char *what);
// The same, as a number of work-groups of a launch.
uint32_t work_groups(zemm_dim_t items, zemm_dim_t per_group, const char *what);

// Whether the tensor has 4 GiB or more, so that kernels for GPUs need 64-bit offsets.
bool is_large(const memory_desc &md);
// The build flags of a kernel for a GPU. has_large_register_file: its threads get 256 registers
// instead of 128.
const char *gpu_build_flags(bool has_large_tensors, bool has_large_register_file = false);

} // namespace zemm

// SPDX-License-Identifier: Apache-2.0
// What launches and builds of kernels have in common.
#pragma once

#include "common/memory_desc.hpp"

namespace zemm {

// Groups of per_group items each; unimplemented if a launch cannot have as many. what: the sentence's
// subject.
zemm_dim_t groups(zemm_dim_t items, zemm_dim_t per_group, const char *what);

// Whether a GPU that addresses buffers by 32-bit offsets has to be told how large the tensor is.
bool is_large(const memory_desc &md);
// Of a kernel for a GPU; with a large register file its threads have 256 registers.
const char *gpu_build_flags(bool has_large_tensors, bool has_large_register_file = false);

} // namespace zemm

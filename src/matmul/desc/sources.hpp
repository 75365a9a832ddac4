// SPDX-License-Identifier: Apache-2.0
// Which kernels a matmul builds, with which constants and build flags.
#pragma once

#include "matmul/desc/primitive_desc.hpp"

namespace zemm::matmul {

// A kernel that the plan does not need has no name.
struct kernel_sources {
    ze::kernel_source matmul, finish, reduce_src, arrange_src, pack, widen;
};

kernel_sources sources_of(const primitive_desc &pd);

} // namespace zemm::matmul

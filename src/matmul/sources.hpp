// SPDX-License-Identifier: Apache-2.0
// How the kernels of a matmul are built.
#pragma once

#include "matmul/primitive_desc.hpp"

namespace zemm::matmul {

// Those that its plan does not need have no name.
struct kernel_sources {
    ze::kernel_source matmul, finish, reduce_src, pack;
};

kernel_sources sources_of(const primitive_desc &pd);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// The SPIR-V that was compiled when the library was built, one binary per row of kernels.def.
#pragma once

#include <cstddef>

namespace zemm::kernels {

struct embedded_spirv {
    const char *name;
    const unsigned char *data;
    size_t size; // bytes
};

extern const embedded_spirv spirv_table[];
extern const unsigned spirv_count;

} // namespace zemm::kernels

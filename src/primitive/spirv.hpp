// SPDX-License-Identifier: Apache-2.0
// The SPIR-V of all kernels, compiled when the library was built: one binary for each row of
// kernels.def.
#pragma once

#include <cstddef>
#include <string>

#include "ze/module.hpp"

namespace zemm {

struct embedded_spirv {
    const char *name;
    const unsigned char *data;
    size_t size;      // bytes
    const char *hash; // of the bytes, made by the build
};

extern const embedded_spirv spirv_table[];
extern const unsigned spirv_count;

// The binary of a row. Throws runtime_error if the library was built without it.
ze::spirv find_spirv(const std::string &name);

} // namespace zemm

// SPDX-License-Identifier: Apache-2.0
// The sources of modules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace zemm::ze {

struct spec_constant {
    uint32_t id;
    uint32_t value;
    bool operator==(const spec_constant &) const = default;
};

struct spirv {
    const char *name; // in messages and in the keys of the caches
    std::span<const uint8_t> words;
    const char *hash; // of the words: the caches know the binary by its name and this
};

// The arguments of get_kernel() without the device; the SPIR-V binary is given by its name.
struct kernel_source {
    const char *name = nullptr;  // of the SPIR-V binary, as in kernels.def
    const char *entry = nullptr; // entry point in the module
    std::vector<spec_constant> constants;
    const char *flags = ""; // build flags; a string literal, as it is not copied
};

} // namespace zemm::ze

// SPDX-License-Identifier: Apache-2.0
// What is launched: a kernel with its constants, its argument block and its grid.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ze/module.hpp"

namespace zemm {

// A struct that host and kernels share. Copies are one object.
struct shared_bytes {
    std::shared_ptr<const void> data;
    size_t size = 0;

    template <typename T> static shared_bytes of(std::shared_ptr<T> made) {
        return {std::move(made), sizeof(T)};
    }
};

struct launch_plan {
    const char *kernel = nullptr; // its name in kernels.def
    const char *entry = nullptr;  // its entry point, if that has another name
    std::vector<ze::spec_constant> constants;
    shared_bytes block; // the argument block, copied to the device at creation; may have none
    std::array<uint32_t, 3> group_size = {1, 1, 1}; // work-items of a work-group
    std::array<uint32_t, 3> group_count = {};       // work-groups; zeros for an empty problem
};

template <typename T> shared_bytes to_bytes(const T &block) {
    return shared_bytes::of(std::make_shared<const T>(block));
}

} // namespace zemm

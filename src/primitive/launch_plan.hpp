// SPDX-License-Identifier: Apache-2.0
// A launch: a kernel with its constants, its build flags, its argument block and its grid.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "common/memory_desc.hpp"
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
    zemm_dim_t operations = most_operations;        // about, of the whole launch

    static constexpr zemm_dim_t most_operations = std::numeric_limits<zemm_dim_t>::max();
    // Whether it takes less time than a caller may wait. The thread that executes the primitive does it then,
    // with others that help, if the device is a CPU that has nothing else to do for the stream.
    static bool is_brief(zemm_dim_t operations, uint32_t compute_units);
};

template <typename T> shared_bytes to_bytes(const T &block) {
    return shared_bytes::of(std::make_shared<const T>(block));
}

// items / per_group, rounded up. Throws unimplemented if a launch cannot have as many groups. what: the
// subject of the sentence.
zemm_dim_t checked_ceil_div(zemm_dim_t items, zemm_dim_t per_group, const char *what);
// Returns it as the number of work-groups of a launch.
uint32_t work_groups(zemm_dim_t items, zemm_dim_t per_group, const char *what);

// Whether the tensor has 4 GiB or more, so that kernels for GPUs need 64-bit offsets.
bool is_large(const memory_desc &md);
// The build flags of a kernel for a GPU. has_large_register_file: its threads get 256 registers
// instead of 128.
const char *gpu_build_flags(bool has_large_tensors, bool has_large_register_file = false);

} // namespace zemm

// SPDX-License-Identifier: Apache-2.0
// The list of matmul kernels and which of them takes a problem.
#pragma once

#include <string>
#include <vector>

#include "matmul/problem.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// A row of kernels.def.
struct kernel_row {
    const char *name;
    int tile_m, tile_n; // rows and columns of dst of one work-item
    int group_x;        // work-items of a group along the columns
    // True if the kernel takes the problem on the device; else says why not.
    bool (*supports)(const problem &p, const ze::device &dev, std::string &why);
};

// The rows that take the problem, in the order of kernels.def. Refusals go to the log
// (ZEMM_VERBOSE=dispatch). ZEMM_KERNEL=<name> keeps only that row; unimplemented when nothing is left.
std::vector<const kernel_row *> candidates(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

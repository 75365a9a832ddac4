// SPDX-License-Identifier: Apache-2.0
// How the tiles of a row for GPUs with XMX are dealt to work-groups, and K to sub-groups
// (src/kernels/owner/sub_group/place.h).
#pragma once

#include <string>

#include "ze/device.hpp"

namespace zemm::matmul {

struct facts;
struct kernel_row;

struct split {
    zemm_dim_t group_x, group_y; // tiles of a group
    zemm_dim_t along_n, along_m; // groups of tiles
    zemm_dim_t batch;            // of them
    double fill;                 // of the groups' tiles, those that have rows and columns
    zemm_dim_t slices = 1;       // of K, of sub-groups of a work-group, which add them up
    zemm_dim_t ranges = 1;       // of K before that, of work-groups; a second launch adds these up
    zemm_dim_t whole;            // groups of tiles before those in slices
    zemm_dim_t k_range, k_slice; // elements of K

    zemm_dim_t tiles() const { return group_x * group_y; } // of a group
    zemm_dim_t groups() const { return along_n * along_m; }
    zemm_dim_t sub_groups() const; // of a work-group
    zemm_dim_t work_groups() const { return whole + sliced(); }
    zemm_dim_t sliced() const; // work-groups with slices
    std::string text() const;  // ", K in 2 ranges"; empty if nothing is split
};

// Of local memory, for the slices of a work-group.
size_t local_bytes(const split &s, const kernel_row &row);

// The cheapest one (cost.hpp). Always the same for a problem, a row and a model: so floats round alike.
split best_split(const facts &f, const ze::gpu_model &model);

// What stands for the device: the CPU device runs such rows to check them, as if it were a small GPU.
ze::gpu_model xe_model(const ze::device &dev);

} // namespace zemm::matmul

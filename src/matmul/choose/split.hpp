// SPDX-License-Identifier: Apache-2.0
// How tiles are dealt to work-groups, and K to sub-groups, for rows where a sub-group owns a tile
// (src/kernels/owner/sub_group/place.h).
#pragma once

#include <string>

#include "ze/device.hpp"

namespace zemm::matmul {

struct cut_choice;
struct facts;
struct kernel_row;

struct split {
    zemm_dim_t group_x, group_y; // tiles along N and M in a group of tiles
    zemm_dim_t along_n, along_m; // groups of tiles along N and M
    zemm_dim_t batch;            // matrices that are cut into tiles
    double fill;                 // fraction of the tiles that overlap dst
    // K is cut into ranges, each for work-groups of its own; a second launch adds up their sums. A
    // range is cut into slices, each for one sub-group of a work-group; these add up their sums.
    zemm_dim_t slices = 1;
    zemm_dim_t ranges = 1;
    zemm_dim_t whole;            // groups of tiles whose tiles are not sliced; they come first
    zemm_dim_t k_range, k_slice; // elements of K in a range and in a slice
    zemm_dim_t strip = 1;        // work-groups along M that run before the next columns

    zemm_dim_t tiles() const { return group_x * group_y; } // in a group of tiles
    zemm_dim_t groups() const { return along_n * along_m; }
    zemm_dim_t sub_groups() const; // in a work-group
    zemm_dim_t work_groups() const { return whole + sliced(); }
    zemm_dim_t sliced() const; // work-groups that compute slices
    std::string text() const;  // for the log: ", K in 2 ranges"; "" if K is not split
};

// Bytes of local memory of a work-group, where its slices meet.
size_t local_bytes(const split &s, const kernel_row &row);

// The cheapest split by xe_cost.hpp of those that the choice allows. It depends only on the problem, the
// row, the model and the choice, so that float results are always rounded alike. Throws
// unimplemented if the problem cannot be split as chosen.
split best_split(const facts &f, const ze::gpu_model &model, const cut_choice &chosen);

// Sets s.strip. Throws unimplemented if the chosen one does not fit.
void cut_strips(split &s, const facts &f, const ze::gpu_model &model, const cut_choice &chosen);

// The model of a GPU. For the CPU device, which runs these rows only to test them, a small GPU.
ze::gpu_model xe_model(const ze::device &dev);

} // namespace zemm::matmul

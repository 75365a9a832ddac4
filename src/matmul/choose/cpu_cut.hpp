// SPDX-License-Identifier: Apache-2.0
// How a problem is cut for rows where a work-item owns a tile.
#pragma once

#include "matmul/choose/choice.hpp"
#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

struct cpu_cut {
    zemm_dim_t tiles_along_n;    // in work-items of a work-group
    zemm_dim_t along_n, along_m; // work-groups; along_m is 1 with groups of rows, which a table cuts
    zemm_dim_t ranges, k_range;  // of K, and elements of K in each
    int32_t abreast;             // neighbouring tiles of a work-item (FLAG_ABREAST)
    int32_t tile_rows;           // with groups of rows: at most
    int32_t strip;
    // If K is split: rows of the parts in which a second launch adds up the sums of all ranges, and the
    // number of parts along M.
    int32_t finish_rows;
    zemm_dim_t finish_along_m;
};

// Throws unimplemented if the problem cannot be cut as chosen.
cpu_cut cut_for_cpu(const facts &f, const cut_choice &chosen, const ze::device &dev);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Rules of thumb for CPUs, with their numbers: which rows where a work-item owns a tile are faster, and how
// they cut a problem.
#pragma once

#include <string>

#include "matmul/choose/facts.hpp"
#include "matmul/choose/tuning.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// Refuses problems that are better for another row.
bool suits(const facts &f, const ze::device &dev, std::string &why);
// Whether multiplying weights that lie along K from where they are beats making a panel of them.
bool multiplies_along_k(const facts &f);
// Whether there are so few rows, and plain weights along N, that neighbouring tiles pay (FLAG_ABREAST).
bool has_few_rows_along_n(const facts &f);
// Whether weights are better packed before the matmul runs.
bool is_worth_packing(const facts &f);
// A src with more elements is not copied: the copy must not fill the memory.
constexpr zemm_dim_t most_copied_elements = 1 << 27;
// Whether src is better copied before the matmul runs, in the type that the row multiplies.
bool is_worth_widening(const facts &f, zemm_data_type_t wide, const ze::device &dev);

struct cpu_cut {
    zemm_dim_t tiles_along_n;    // in work-items of a work-group
    zemm_dim_t along_n, along_m; // work-groups; along_m is 1 with groups of rows, which a table cuts
    zemm_dim_t ranges, k_range;  // of K, and elements of K in each
    int32_t abreast;             // neighbouring tiles of a work-item (FLAG_ABREAST)
    int32_t tile_rows;           // with groups of rows: at most
    int32_t strip;
    // If K is split: rows of the parts in which a second launch adds up the sums of all ranges, and the
    // number of parts along M.
    int32_t adding_rows;
    zemm_dim_t adding_along_m;
};

// Multiply-adds, or the most there are where nobody knows them. Those of f8 and the like take longer.
zemm_dim_t operations_of(const problem &p);

// Whether the tiles of this cut quantise the only row of src themselves.
bool quantizes_row(const facts &f, const cpu_cut &cut, const ze::device &dev);

// Throws unimplemented if the problem cannot be cut as chosen.
cpu_cut cut_for_cpu(const facts &f, const cut_choice &chosen, const ze::device &dev);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// What is faster on a CPU: the rules of thumb for rows where a work-item owns a tile, with their numbers.
#pragma once

#include <string>

#include "ze/device.hpp"

namespace zemm::matmul {

struct facts;

// Refuses problems that are better for another row.
bool suits(const facts &f, std::string &why);
// Whether multiplying weights that lie along K from where they are beats making a panel of them.
bool multiplies_along_k(const facts &f);
// Whether there are so few rows, and plain weights along N, that neighbouring tiles pay (FLAG_ABREAST).
bool has_few_rows_along_n(const facts &f);
// Whether weights are better packed before the matmul runs.
bool is_worth_packing(const facts &f);
// Whether a src of small floats is better made wider before the matmul runs.
bool is_worth_widening(const facts &f);

// How a problem is cut (cpu_cut.hpp).
// Work-groups that keep all cores busy.
zemm_dim_t enough_work_groups(const ze::device &dev);
// Tiles get no lower than this before K is split into ranges.
zemm_dim_t low_tile(const facts &f);
// Ranges of K at most, for an execution that has too few tiles; 1: K is not split for that.
zemm_dim_t most_ranges(const facts &f);
// Neighbouring tiles of a work-item at most.
zemm_dim_t most_abreast(const facts &f);

} // namespace zemm::matmul

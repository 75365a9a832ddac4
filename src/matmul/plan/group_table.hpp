// SPDX-License-Identifier: Apache-2.0
// The groups of an execution of a grouped matmul: what the memories say, and the table of parts that
// kernels read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/args/matmul_args.h"
#include "primitive/objects.hpp"

namespace zemm::matmul {

// For each group, where it ends along the grouped dimension, counted from the first one's begin.
using group_ends = std::vector<int32_t>;

// Reads and checks the offsets of a grouped memory. Earlier work on the memory must be done. Throws
// invalid_arguments if they decrease or pass the end of the tensor. name: of the tensor, for the sentence.
group_ends read_ends(const std::string &name, const zemm_memory &memory);
// Throws invalid_arguments if the groups of another tensor differ.
void check_same_ends(const char *name, const group_ends &ends, const std::string &other_name,
                     const group_ends &other);

struct group_sizes {
    int32_t largest;
    int32_t count; // of groups that are not empty
};
// Of groups larger than `above`, and no larger than `upto`.
struct group_range {
    int32_t above = 0, upto = INT32_MAX;
    bool has(int64_t size) const { return size > above && size <= upto; }
};
group_sizes sizes_of(const group_ends &ends, const group_range &range = {});

// The rows of the groups of a range in tiles of nearly equal height: at most `most` rows. unit: tiles but the
// last of a group have multiples of it. The table ends with empty parts up to a multiple of `together`.
std::vector<kernels::group_part> parts_of_rows(const group_ends &ends, const group_range &range, int most,
                                               int unit, int together);
// The part of K of each group.
std::vector<kernels::group_part> parts_of_k(const group_ends &ends);

// A table that kernels of the device can read, for as long as `memory` lives.
struct group_table {
    std::shared_ptr<const void> memory;
    const void *data;
    uint32_t count;
};
group_table make_table(const std::shared_ptr<ze::device> &device, std::vector<kernels::group_part> parts);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Plain weights that are packed into the scratchpad before the matmul runs.
#pragma once

#include <memory>
#include <string>

#include "matmul/dispatch.hpp"
#include "reorder/plan.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

struct packing {
    std::shared_ptr<const struct problem> problem; // with packed weights, as the row's kernel runs it
    reorder::plan move;
};

// Whether the row would read the weights element by element: plain ones that its block loads cannot read.
bool gathers_weights(const problem &p, const kernel_row &row);
// Whether the row can do that: only the smallest tiles, others have no registers for it.
bool gathers(const kernel_row &row);

// On a CPU: for rows that want packed weights, where many tiles read them. nullptr if they do not.
std::shared_ptr<const packing> pack_for_cpu(const problem &p, const kernel_row &row, const ze::device &dev);
// Where a sub-group owns a tile: for weights that it gathers otherwise. nullptr, and why, if they cannot be
// packed, or if it is certain not to be worth it.
std::shared_ptr<const packing> pack_for_xe(const problem &p, const kernel_row &row, const ze::device &dev,
                                           std::string &why);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Chooses the kernels that can run a problem.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "matmul/choose/facts.hpp"
#include "matmul/choose/split.hpp"
#include "matmul/choose/tuning.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

// src is copied before the matmul runs, once for all tiles: in the type that the row multiplies, where that
// is less work than converting it in each tile, or only with other strides, where tiles of AMX read it
// slowly. f16 that tiles of bf16 multiply is always split first.
struct src_widening {
    facts wide; // of the problem that the kernel then runs
};

// A row that takes a problem.
struct candidate {
    facts asked; // of the problem as it was asked, with the weights in the layout that the row wants
    // If the weights are packed first: the facts of the problem that the kernel then runs.
    std::optional<facts> packed = std::nullopt;
    std::shared_ptr<const src_widening> widening = nullptr; // how src is copied first, if it is
    // For rows where a sub-group owns a tile: how tiles and K are dealt to sub-groups, and the
    // estimated clocks.
    split dealt = {};
    double clocks = 0;
    cut_choice cut = {};   // what ZEMM_KERNEL or a tuning file asks for
    bool is_tuned = false; // a tuning file asks for it; its row may be in the list once more

    // Of what the kernel runs.
    const facts &run() const { return widening ? widening->wide : packed ? *packed : asked; }
    const struct problem &problem() const { return asked.asked(); }
};

// The rows that take the problem, best first: the one of a tuning file, then those for GPUs by
// estimated clocks, then the others in the order of kernels.def. Refusals go to the log
// (ZEMM_VERBOSE=dispatch). ZEMM_KERNEL=<choice> keeps only that row. Throws unimplemented if no row
// is left.
std::vector<candidate> candidates(const problem &p, const ze::device &dev);

} // namespace zemm::matmul

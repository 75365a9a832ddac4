// SPDX-License-Identifier: Apache-2.0
// What follows from a problem and a row of kernels.def. It is derived here and in problem_facts.hpp, once;
// predicates, cost, split and plan read it.
#pragma once

#include <memory>
#include <string>

#include "matmul/choose/arrangement.hpp"
#include "matmul/choose/kernel_row.hpp"
#include "matmul/choose/problem_facts.hpp"

namespace zemm::matmul {

// A problem with its weights in one layout. Rows that want this layout share it.
struct laid_out_problem {
    // reads_packed: whether kernels read the weights if they are packed.
    laid_out_problem(const struct problem &p, const memory_desc &wei, const problem_facts &of_problem,
                     bool reads_packed = true);

    const struct problem problem;
    const bool is_packed; // the weights are, and kernels read them
    // The weights have a layout with blocks that no kernel reads: they are converted first.
    const bool is_foreign;
    const uint32_t wei_unit;     // UNIT_...: their contiguous dimension, or packed
    const bool wei_in_blocks_2d; // 2-D block loads can read the weights
    const bool has_near_columns; // of weights: neighbours along N lie side by side
};

struct weights_packing; // layouts.hpp

// How a kernel reads a matrix.
enum class reading {
    elements,  // one by one, or in vectors on a CPU where elements are contiguous
    blocks_1d, // 1-D block loads
    blocks_2d, // 2-D block loads
    packed,    // whole panels (packed_weights.hpp)
};

struct facts : problem_facts {
    const kernel_row *row = nullptr;
    family_traits family = {};
    std::shared_ptr<const laid_out_problem> laid_out = nullptr;
    reading src_reading = reading::elements, wei_reading = reading::elements;
    // Tiles are cut from so many matrices of so many rows of dst. With groups of rows: from the groups that
    // an execution is likely to have, and a matrix has all rows, of any group (for Intel GPUs: M).
    zemm_dim_t matrices = 0, matrix_rows = 0;
    // Bytes. The address of the tensor must be a multiple of this.
    size_t src_alignment = 1, wei_alignment = 1;
    // The kernel multiplies a few rows by weights that lie along K, without making a panel.
    bool is_without_panel = false;
    // CPU rows: a few likely rows of dst, and plain weights that lie along N. Only then may a work-item
    // compute several neighbouring tiles (FLAG_ABREAST).
    bool may_be_abreast = false;
    // Ranges and slices of K are multiples of this: a segment, or a panel if all of K is one
    // segment.
    zemm_dim_t range_unit = 0;

    // Only for rows where a sub-group owns a tile:
    bool narrows_f32 = false;                              // f32 src is multiplied as bf16
    int step = 0;                                          // elements of K that are multiplied at once
    std::shared_ptr<const arrangement> arranged = nullptr; // how src is arranged first, if it is
    // Products of bf16 for one product of the problem. Where f32 is split into two bf16: 3 if both
    // operands are f32, 2 if the weights are integers.
    int products = 1;
    int panel_k = 0;   // elements of K in a panel: whole steps that divide the segment
    int panels = 1;    // in a block, the part of K whose scales and zero points are read together
    int registers = 0; // registers that a thread needs

    // How the weights are packed into the scratchpad before the matmul runs. nullptr if the row
    // reads them as they are.
    std::shared_ptr<const weights_packing> packing = nullptr;
    // Why not, if the weights should be packed but cannot be.
    std::string why_not_packed = {};

    // The problem as it was asked, with the weights in the layout that the row wants; and the one that the
    // kernel runs, whose src may have been arranged first.
    const struct problem &asked() const { return laid_out->problem; }
    const struct problem &run() const { return arranged ? arranged->problem : laid_out->problem; }
    // Whether weights become another type before they are multiplied. It is that of src.
    bool converts_weights() const;
    bool gathers_weights() const { return family.is_xe() && wei_reading == reading::elements; }
    bool splits_f32() const { return products > 1; }
    // Bytes are multiplied four by four by vector instructions.
    bool multiplies_quads() const {
        return row->multiplies == operands::int8 && family.multiplies_by == multiplier::vectors;
    }
    // Elements of K in a range if K is split into at most so many: whole units.
    zemm_dim_t k_range(zemm_dim_t ranges) const;
};

// Derives everything but packing and why_not_packed, which layouts::pack_first() sets.
facts facts_of(const kernel_row &row, const problem_facts &of_problem,
               std::shared_ptr<const laid_out_problem> laid_out);

} // namespace zemm::matmul

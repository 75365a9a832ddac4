// SPDX-License-Identifier: Apache-2.0
// What follows from a problem and a row of kernels.def. It is derived here, once; predicates, cost, split and
// plan read it.
#pragma once

#include <memory>
#include <string>

#include "matmul/kernel_row.hpp"
#include "matmul/problem.hpp"

namespace zemm::matmul {

// The same for every row, and for every layout of the weights.
struct problem_facts {
    bool empty; // nothing is computed
    // K in segments, in which no scale or zero point changes: the greatest common divisor of all K groups, or
    // a part of it whose sum an s32 holds.
    zemm_dim_t segment;
    bool is_one_segment;
    bool has_quads;           // every segment begins at a multiple of 4
    bool scales_along_k;      // sums of segments are scaled
    zemm_dim_t longest_range; // of K, whose sum an s32 holds
    uint32_t src_unit;        // UNIT_...: how neighbours lie in src
    // Where a sub-group owns a tile: rows of one matrix of src. M, or the whole batch's, where they share the
    // weights and lie at one distance from each other.
    zemm_dim_t matrix_rows;
    bool src_in_blocks_1d, src_in_blocks_2d; // whether block loads can read src
};

// A problem with its weights in one layout, shared by the rows that want it.
struct laid_out_problem {
    laid_out_problem(const struct problem &p, const memory_desc &wei, const problem_facts &of_problem);

    const struct problem problem;
    const bool is_packed;        // the weights
    const uint32_t wei_unit;     // UNIT_...: how their neighbours lie
    const bool wei_in_blocks_2d; // whether 2-D block loads can read them
};

struct weights_packing; // layouts.hpp

// How a kernel reads a matrix.
enum class reading {
    elements,  // one by one; a CPU's vectors, where neighbours allow it
    blocks_1d, // block loads in one dimension
    blocks_2d,
    packed, // whole panels (packed_weights.hpp)
};

struct facts : problem_facts {
    const kernel_row *row = nullptr;
    family_traits family = {};
    std::shared_ptr<const laid_out_problem> laid_out = nullptr;
    reading src = reading::elements, wei = reading::elements;
    // Whether few rows of bytes are multiplied with weights that lie along K, without a panel of these.
    bool is_without_panel = false;
    zemm_dim_t range_unit = 0; // elements of K of which ranges are multiples: a segment, or a panel of all K

    // Where a sub-group owns a tile.
    int step = 0;      // elements of K that are multiplied at once
    int products = 1;  // that one takes: of f32 as sums of two bf16 three, two where one factor is an integer
    int panel_k = 0;   // elements of K in a panel: the most steps that divide a segment
    int panels = 1;    // in a block, the part of K whose parameters are read together
    int registers = 0; // that a thread needs

    // The weights, packed into the scratchpad before the matmul runs; nullptr if the row reads them as they
    // are. Why not, if they ought to be packed but cannot.
    std::shared_ptr<const weights_packing> packing = nullptr;
    std::string why_not_packed = {};

    const struct problem &problem() const { return laid_out->problem; }
    bool gathers_weights() const { return family.is_xe() && wei == reading::elements; }
    bool splits_f32() const { return products > 1; }
};

problem_facts facts_of(const problem &p);
// All but packing (layouts.hpp).
facts facts_of(const kernel_row &row, const problem_facts &of_problem,
               std::shared_ptr<const laid_out_problem> laid_out);

} // namespace zemm::matmul

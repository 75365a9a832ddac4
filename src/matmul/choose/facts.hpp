// SPDX-License-Identifier: Apache-2.0
// Facts that follow from a problem, and from a problem and a row of kernels.def. They are derived here, once;
// predicates, cost, split and plan read them.
#pragma once

#include <memory>
#include <string>

#include "matmul/choose/kernel_row.hpp"
#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

// Facts of a problem, whatever the row and the layout of the weights are.
struct problem_facts {
    bool empty;       // a tensor has no elements: nothing is computed
    bool is_bare_s32; // the s32 sums are the results (arithmetic.hpp)
    // Float zero points are subtracted from sums of integers, which become f32 for that.
    bool subtracts_floats;
    bool allows_bf16; // the fpmath mode lets f32 be multiplied as one bf16

    // Elements of K in a segment, in which no scale or zero point changes. It is the greatest
    // common divisor of all K groups, or a divisor of that if an s32 cannot hold the sum over it, or
    // an f32 the sum from which float zero points are subtracted.
    zemm_dim_t segment;
    zemm_dim_t last_segment; // elements of K in the last one: fewer, where groups do not divide K
    bool is_one_segment;
    // Parts of K that are multiplied apart begin at multiples of this: segments, or groups of K, which begin
    // at any element. 0: all of K is one part.
    zemm_dim_t part_unit;
    // Which scales and zero points change along K.
    struct {
        bool src_scale, wei_scale, src_zp, wei_zp;
    } along_k;
    bool has_equal_groups; // those that change along K have groups of exactly one segment
    // The sum of each segment is scaled: scales change along K, integers have float zero points, or weights
    // have offsets.
    bool scales_along_k;
    zemm_dim_t longest_range;   // elements of K that one s32 may sum (arithmetic.hpp)
    zemm_dim_t reduction_group; // elements of K in each sum of src that the caller passes; 0: it passes none

    bool shares_weights; // the batch has one matrix of weights
    // Rows of dst.
    struct {
        zemm_dim_t all;    // of the whole batch; each row of a group counts once
        zemm_dim_t likely; // that one matrix of weights multiplies; with groups of rows in the largest group
    } rows;
    // For rows of kernels.def where a sub-group owns a tile: rows of the matrix that tiles are cut from. It
    // is M, or batch * M if the batch shares the weights and all rows of src are equally far apart.
    zemm_dim_t linear_rows;

    uint32_t src_unit;                       // UNIT_...: the dimension in which src is contiguous
    bool src_in_blocks_1d, src_in_blocks_2d; // block loads can read src

    // Whether parts of K that are multiplied apart begin at multiples of the unit. Ranges of K begin at whole
    // panels or segments.
    bool begins_at(zemm_dim_t unit) const { return part_unit % unit == 0; }
    bool has_quads() const { return begins_at(4); }
};

problem_facts facts_of(const problem &p);
// The facts if kernels see another src, of which K is a part.
problem_facts facts_of(const problem &p, const memory_desc &seen_src);

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

// src as rows for Intel GPUs multiply it (arrangement.hpp).
struct arrangement {
    // The problem that the kernel then runs. Its src has rows of whole blocks of 64 elements. It has no
    // scales of src if arrange_src applies them.
    struct problem problem;
    memory_desc seen_src; // src with the padding behind K as elements of K, as block loads read it
    bool applies_scales;
    int unit; // elements of K that change their order among themselves; 1: they keep it
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
    // A value is multiplied as two bf16: f32 on GPUs, f16 by tiles of bf16. splits_wei: the latter only.
    bool splits_src = false, splits_wei = false;
    // Ranges and slices of K are multiples of this: a segment, or a panel if all of K is one
    // segment, but a higher panel does not make ranges longer than shortest_range.
    static constexpr zemm_dim_t shortest_range = 512; // elements of K: fewer are not worth a second launch
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
    // CPU rows that widen bytes, by plain weights along K: a few rows of dst wait for the panel.
    bool waits_for_panel() const;
    // Whether src has 7 bits: 16 bits hold the sums of two such products.
    bool uses_reduced_range() const { return family.widens_bytes && run().has_reduced_src(); }
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

// SPDX-License-Identifier: Apache-2.0
// What follows from a problem, whatever the row of kernels.def and the layout of the weights are.
#pragma once

#include "common/memory_desc.hpp"
#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

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
    bool is_one_segment;
    // Parts of K that are multiplied apart begin at multiples of this: segments, or groups of K, which begin
    // at any element. 0: all of K is one part.
    zemm_dim_t part_unit;
    // Which scales and zero points change along K.
    struct {
        bool src_scale, wei_scale, src_zp, wei_zp;
    } along_k;
    bool has_equal_groups; // those that change along K have groups of exactly one segment
    // The sum of each segment is scaled: scales change along K, or integers have float zero points.
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
// The same if kernels see another src, of which K is a part.
problem_facts facts_of(const problem &p, const memory_desc &seen_src);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// How a row of kernels.def does the arithmetic of a problem: what its specialisation constants say beside
// types and layouts. It is derived from the facts of what runs, once for each plan.
#pragma once

#include "kernels/args/matmul_args.h"
#include "matmul/choose/facts.hpp"
#include "matmul/problem/problem.hpp"

namespace zemm::matmul {

struct arithmetic {
    // The policy flips the sign bit of the weights, because src and weights are both signed or both unsigned:
    // x86 instructions for bytes take one unsigned and one signed operand.
    bool flips_weights;
    bool sums_src;            // sums of src over each segment are needed
    bool src_scales_segments; // the sum of each segment is multiplied by scales of src
    bool wei_scales_segments; // and by those of the weights
    bool sums_are_bits;       // FLAG_SUM_BITS is right, and saves instructions
    zemm_dim_t tile_bytes;    // of K in tiles of AMX: 64, or 32 for groups of 32 (owner/work_item/groups.h)
    kernels::zp_term zp_term; // how zero points of the weights are multiplied with sums of src
    bool has_quad_tail;       // a part of K that is multiplied four by four may end with fewer elements

    // Rows where a work-item owns a tile:
    bool reads_rows;   // the policy can multiply a few rows by weights that lie along N from where they are
    bool src_in_place; // the policy multiplies src as it is in memory
    // The policy multiplies weights in another way if it uses them only once.
    bool differs_for_one_group;
    // Parameters change along K as in quantised models: groups of one size, scales of one type, zero points
    // of floats, of bytes or of the type of the weights, and no zero points of a src with groups. Kernels for
    // these know all types. For the many other combinations they look at the types.
    bool is_usual_along_k;
};

arithmetic arithmetic_of(const facts &f);
bool flips_weights(const facts &f); // arithmetic::flips_weights alone

// ---- How many products an s32 sum can hold, whatever the values are. facts_of() asks for a problem alone.

// Whether the s32 sums of an integer matmul are its results, without f32 on the way. Such sums may
// wrap.
bool is_bare_s32(const problem &p);
// Elements of K whose sum of products is never above `most` in magnitude, by the ranges of the types.
// For integer problems.
zemm_dim_t longest_sum(const problem &p, zemm_dim_t most);
// The longest sum that fits into an s32.
zemm_dim_t longest_s32_sum(const problem &p);
// The longest part of a segment that divides it and is no longer than `longest`.
zemm_dim_t fitting_part(zemm_dim_t segment, zemm_dim_t longest);
// Elements of K in a range whose sum fits into an s32: all of K, or whole segments, or whole blocks
// if K is one segment. Sums of ranges are then added up in more than 32 bits. For problems without
// scales along K.
zemm_dim_t longest_range(const problem &p, zemm_dim_t segment);

} // namespace zemm::matmul

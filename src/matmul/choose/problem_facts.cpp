// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/problem_facts.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/matmul_args.h"
#include "matmul/choose/block_loads.hpp"
#include "matmul/problem/sums.hpp"

namespace zemm::matmul {

namespace {

// The part of a segment whose sum of products and sum of src are exact as f32, if it consists of
// what every row multiplies at once. Else the part that an s32 can sum.
zemm_dim_t float_segment(const problem &p, zemm_dim_t segment) {
    constexpr zemm_dim_t at_once = 32;
    const zemm_dim_t exact = longest_sum(p, 1 << 24);
    if (segment <= exact)
        return segment;
    return fitting_part(segment, segment % at_once == 0 ? exact : longest_s32_sum(p));
}

// The parameters that may change along K: elements of K in a group of each. 0: there is none.
struct k_groups {
    zemm_dim_t src_scale, wei_scale, src_zp, wei_zp, reduction;
};

k_groups k_groups_of(const problem &p) {
    const auto group = [&](const quant_entry *entry, bool k_is_row) {
        return entry ? k_group(p, *entry, k_is_row) : 0;
    };
    return {group(p.scale(ZEMM_ARG_SRC), false), group(p.scale(ZEMM_ARG_WEIGHTS), true),
            group(p.zero_point(ZEMM_ARG_SRC), false), group(p.zero_point(ZEMM_ARG_WEIGHTS), true),
            group(p.reduction(), false)};
}

zemm_dim_t segment_of(const problem &p, const problem_facts &f, const k_groups &g) {
    zemm_dim_t segment = p.k();
    for (zemm_dim_t group : {g.src_scale, g.wei_scale, g.src_zp, g.wei_zp, g.reduction})
        segment = group == 0 ? segment : std::gcd(segment, group);
    if (f.subtracts_floats)
        return float_segment(p, segment);
    if (segment < p.k() && p.integer() && !f.is_bare_s32 && segment > longest_s32_sum(p))
        return fitting_part(segment, longest_s32_sum(p));
    return segment; // if K is one segment with too large a sum, longest_range cuts it instead
}

// Whether the rows of the whole batch of dst belong to rows of src that are all equally far apart.
bool src_rows_are_linear(const problem &p) {
    const int row = p.ndims() - 2;
    zemm_dim_t rows = p.src.dims[row];
    for (int d = row - 1; d >= 0; --d) {
        if (p.dst.dims[d] == 1)
            continue;
        if (p.src.dims[d] != p.dst.dims[d] || p.src.strides[d] != rows * p.src.strides[row])
            return false;
        rows *= p.src.dims[d];
    }
    return true;
}

void derive_rows(problem_facts &f, const problem &p) {
    const bool by_rows = p.grouped == grouping::rows;
    const zemm_dim_t whole_batch = p.batch() * p.m();
    f.shares_weights =
        std::all_of(p.wei.dims, p.wei.dims + p.ndims() - 2, [](zemm_dim_t d) { return d == 1; });
    f.rows.all = by_rows ? p.m() : whole_batch;
    f.rows.likely = by_rows ? p.likely_rows : f.shares_weights ? whole_batch : p.m();
    f.linear_rows = f.shares_weights && src_rows_are_linear(p) ? whole_batch : p.m();
}

} // namespace

// Runs of a 4-bit type must begin at a whole byte. Runs along K begin where parts of K do.
uint32_t contiguous_dim(const memory_desc &md, int k_dim, const problem_facts &f) {
    const int row = md.ndims - 2, column = md.ndims - 1;
    const auto whole_bytes = [&](int inner) {
        if (data_type_bits(md.data_type) >= 8)
            return true;
        if (inner == k_dim && !f.begins_at(2))
            return false;
        for (int d = 0; d < md.ndims; ++d)
            if (d != inner && md.dims[d] > 1 && md.strides[d] % 2 != 0)
                return false;
        return md.offset0 % 2 == 0;
    };
    if (md.dims[column] > 1 && md.strides[column] == 1 && whole_bytes(column))
        return UNIT_COLUMN;
    if (md.dims[row] > 1 && md.strides[row] == 1 && whole_bytes(row))
        return UNIT_ROW;
    return UNIT_NONE;
}

problem_facts facts_of(const problem &p) {
    return facts_of(p, p.src);
}

problem_facts facts_of(const problem &p, const memory_desc &seen_src) {
    problem_facts f = {};
    f.empty = p.empty();
    f.is_bare_s32 = is_bare_s32(p);
    f.subtracts_floats = p.integer() && p.has_float_zero_points();
    f.allows_bf16 = p.attr.fpmath_mode == zemm_fpmath_mode_bf16 || p.attr.fpmath_mode == zemm_fpmath_mode_any;

    const k_groups g = k_groups_of(p);
    f.segment = segment_of(p, f, g);
    f.is_one_segment = f.segment == p.k();
    f.part_unit = p.grouped == grouping::k ? 1 : f.is_one_segment ? 0 : f.segment;
    const auto changes = [&](zemm_dim_t group) { return group != 0 && group != p.k(); };
    const auto fits = [&](zemm_dim_t group) { return !changes(group) || group == f.segment; };
    f.along_k = {changes(g.src_scale), changes(g.wei_scale), changes(g.src_zp), changes(g.wei_zp)};
    f.has_equal_groups = fits(g.src_scale) && fits(g.wei_scale) && fits(g.src_zp) && fits(g.wei_zp);
    f.scales_along_k = f.along_k.src_scale || f.along_k.wei_scale || f.subtracts_floats;
    f.longest_range = f.empty || f.scales_along_k ? p.k() : longest_range(p, f.segment);
    f.reduction_group = g.reduction;

    derive_rows(f, p);
    f.src_unit = contiguous_dim(seen_src, p.ndims() - 1, f);
    f.src_in_blocks_1d = can_read_src_1d(seen_src);
    f.src_in_blocks_2d = can_read_src_2d(seen_src, f.linear_rows);
    return f;
}

} // namespace zemm::matmul

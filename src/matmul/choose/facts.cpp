// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/facts.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/matmul_args.h"
#include "matmul/choose/block_loads.hpp"
#include "matmul/choose/registers.hpp"
#include "matmul/plan/arranged_src.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/sums.hpp"

namespace zemm::matmul {

namespace {

// Whether float zero points are subtracted from sums of integers, which become f32 for that.
bool subtracts_floats(const problem &p) {
    return p.integer() && p.has_float_zero_points();
}

// The part of a segment whose sum of products and sum of src are exact as f32, if it consists of
// what every row multiplies at once. Else the part that an s32 can sum.
zemm_dim_t float_segment(const problem &p, zemm_dim_t segment) {
    constexpr zemm_dim_t at_once = 32;
    const zemm_dim_t exact = longest_sum(p, 1 << 24);
    if (segment <= exact)
        return segment;
    return fitting_part(segment, segment % at_once == 0 ? exact : longest_s32_sum(p));
}

zemm_dim_t segment_of(const problem &p) {
    zemm_dim_t segment = p.k();
    const auto narrow = [&](const quant_entry *entry, bool k_is_row) {
        if (entry)
            segment = std::gcd(segment, k_group(p, *entry, k_is_row));
    };
    narrow(p.scale(ZEMM_ARG_SRC), false);
    narrow(p.scale(ZEMM_ARG_WEIGHTS), true);
    narrow(p.zero_point(ZEMM_ARG_SRC), false);
    narrow(p.zero_point(ZEMM_ARG_WEIGHTS), true);
    narrow(p.reduction(), false);
    if (subtracts_floats(p))
        return float_segment(p, segment);
    if (segment < p.k() && p.integer() && !is_bare_s32(p) && segment > longest_s32_sum(p))
        return fitting_part(segment, longest_s32_sum(p));
    return segment; // if K is one segment with too large a sum, longest_range cuts it instead
}

// Along which of the last two dimensions sixteen elements can be loaded at a time. Runs of a 4-bit
// type must begin at a whole byte. Runs along K, the dimension k_dim, begin where parts of K do.
uint32_t unit_dim(const memory_desc &md, int k_dim, const problem_facts &f) {
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

reading src_reading(const facts &f) {
    if (f.family.loads == block_loads::two_dimensions && f.src_in_blocks_2d)
        return reading::blocks_2d;
    if (f.family.loads == block_loads::one_dimension && f.src_in_blocks_1d)
        return reading::blocks_1d;
    return reading::elements;
}

reading wei_reading(const facts &f) {
    if (f.laid_out->is_packed)
        return reading::packed;
    if (f.family.loads == block_loads::two_dimensions && f.laid_out->wei_in_blocks_2d)
        return reading::blocks_2d;
    return reading::elements;
}

bool multiplies_along_k(const facts &f) {
    const problem &p = f.run();
    if (!f.family.multiplies_along_k || f.empty || f.laid_out->wei_unit != UNIT_ROW ||
        f.src_unit != UNIT_COLUMN)
        return false;
    const zemm_dim_t rows = p.grouped == grouping::rows ? p.rows_of_weights() : p.rows_of_dst();
    // With more rows, making a panel of the weights pays. Adding up the lanes at the end of a segment
    // takes about as long for two rows as making a panel of 128 elements of K.
    if (f.row->multiplies == operands::int8)
        return f.begins_at(64) && f.segment % 64 == 0 && rows <= std::min<zemm_dim_t>(6, f.segment / 64);
    return rows <= MOST_ROWS_ALONG_K && is_floating(p.src.data_type) && is_floating(p.wei.data_type) &&
           !p.zero_point(ZEMM_ARG_WEIGHTS);
}

// More rows of bytes and plain weights hide the time in which the weights are read.
bool has_few_rows_along_n(const facts &f) {
    constexpr zemm_dim_t most_rows = 16;
    return !f.family.is_xe() && f.laid_out->wei_unit == UNIT_COLUMN && f.run().rows_of_weights() <= most_rows;
}

// f32 is split into two bf16 where the fpmath mode wants more digits than one bf16 has. Integers
// are exact as one bf16. The product of the two low parts is left out.
int products_of_one(const facts &f) {
    const problem &p = f.run();
    const bool is_split = f.narrows_f32 && p.attr.fpmath_mode != zemm_fpmath_mode_bf16 &&
                          p.attr.fpmath_mode != zemm_fpmath_mode_any;
    return !is_split ? 1 : p.weight_only() ? 2 : 3;
}

int panel_of(const facts &f) {
    // Weights that are split into two bf16 take twice the registers.
    const bool is_half = f.products == 3 || has_zero_points_beside(f);
    zemm_dim_t panel = is_half ? f.row->tile_k / 2 : f.row->tile_k;
    while (!f.empty && !f.is_one_segment && f.segment % panel != 0 && panel > f.step)
        panel -= f.step;
    return int(panel);
}

int panels_of(const facts &f) {
    // With float src, scales and zero points are read for two panels at a time. Integer rows have
    // no registers for that. If all of K is one segment, a range may have an odd number of panels.
    const bool are_two = f.family.multiplies_by == multiplier::dpas && f.converts_weights() &&
                         f.scales_along_k && f.segment < f.run().k() && f.segment % (2 * f.panel_k) == 0;
    return are_two ? 2 : 1;
}

problem with_weights(problem p, const memory_desc &wei) {
    p.wei = wei;
    return p;
}

// The problem with src as the row multiplies it; nullptr if that is as the caller has it.
std::shared_ptr<const problem> arranged_for(const kernel_row &row, const problem &p) {
    if (!arranges_src(p, row))
        return nullptr;
    return std::make_shared<problem>(arranged_problem(p));
}

// What depends on the layout of src.
void derive_from_src(problem_facts &f, const problem &p) {
    f.src_unit = unit_dim(p.src, p.ndims() - 1, f);
    f.matrix_rows = p.shares_weights() && src_rows_are_linear(p) ? p.batch() * p.m() : p.m();
    f.src_in_blocks_1d = can_read_src_1d(p);
    f.src_in_blocks_2d = can_read_src_2d(p, f.matrix_rows);
}

int step_of(const facts &f) {
    if (f.run().weight_only())
        return f.family.widened_step;
    return f.family.step_bytes / operand_bytes(f.row->multiplies);
}

} // namespace

bool facts::converts_weights() const {
    return run().weight_only() || (row->multiplies == operands::half && is_small_float(run().wei.data_type));
}

problem_facts facts_of(const problem &p) {
    problem_facts f = {};
    f.empty = p.empty();
    f.segment = segment_of(p);
    f.is_one_segment = f.segment == p.k();
    f.part_unit = p.grouped == grouping::k ? 1 : f.is_one_segment ? 0 : f.segment;
    f.scales_along_k = changes_along_k(p, p.scale(ZEMM_ARG_SRC), false) ||
                       changes_along_k(p, p.scale(ZEMM_ARG_WEIGHTS), true) || subtracts_floats(p);
    f.longest_range = f.empty || f.scales_along_k ? p.k() : longest_range(p, f.segment);
    derive_from_src(f, p);
    return f;
}

laid_out_problem::laid_out_problem(const struct problem &p, const memory_desc &wei,
                                   const problem_facts &of_problem, bool reads_packed)
    : problem(with_weights(p, wei)), is_packed(reads_packed && is_packed_weights(wei)),
      is_foreign(!is_packed && !md_is_plain(wei)),
      wei_unit(is_packed ? UNIT_PACKED : unit_dim(wei, wei.ndims - 2, of_problem)),
      wei_in_blocks_2d(md_is_plain(wei) && can_read_wei_2d(wei)) {}

facts facts_of(const kernel_row &row, const problem_facts &of_problem,
               std::shared_ptr<const laid_out_problem> laid_out) {
    facts f = {of_problem};
    f.row = &row;
    f.family = row.traits();
    f.laid_out = std::move(laid_out);
    f.arranged = arranged_for(row, f.asked());
    if (f.arranged) {
        static_cast<problem_facts &>(f) = facts_of(*f.arranged);
        struct problem padded = *f.arranged;
        padded.src = with_padding(padded.src);
        derive_from_src(f, padded);
    }
    f.src = src_reading(f);
    f.wei = wei_reading(f);
    f.is_without_panel = multiplies_along_k(f);
    f.may_be_abreast = has_few_rows_along_n(f);
    f.range_unit = f.segment < f.run().k() || f.scales_along_k ? f.segment : row.tile_k;
    if (!f.family.is_xe())
        return f;
    f.narrows_f32 = row.multiplies == operands::half && f.run().src.data_type == zemm_f32;
    f.step = step_of(f);
    f.products = products_of_one(f);
    f.panel_k = panel_of(f);
    f.panels = panels_of(f);
    f.registers = registers_of(f);
    return f;
}

} // namespace zemm::matmul

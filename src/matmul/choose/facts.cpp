// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/facts.hpp"

#include <algorithm>

#include "kernels/matmul_args.h"
#include "matmul/choose/block_loads.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "matmul/choose/registers.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

reading reading_of_src(const facts &f) {
    if (f.family.loads == block_loads::two_dimensions && f.src_in_blocks_2d)
        return reading::blocks_2d;
    if (f.family.loads == block_loads::one_dimension && f.src_in_blocks_1d)
        return reading::blocks_1d;
    return reading::elements;
}

reading reading_of_wei(const facts &f) {
    if (f.laid_out->is_packed)
        return reading::packed;
    if (f.family.loads == block_loads::two_dimensions && f.laid_out->wei_in_blocks_2d)
        return reading::blocks_2d;
    return reading::elements;
}

// f32 is split into two bf16 where the fpmath mode wants more digits than one bf16 has. Integers
// are exact as one bf16. The product of the two low parts is left out.
int products_of_one(const facts &f) {
    if (!f.narrows_f32 || f.allows_bf16)
        return 1;
    return f.run().weight_only() ? 2 : 3;
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

// Tiles of rows for Intel GPUs are cut from src as it lies. Others take rows of the whole batch one by one.
void derive_matrices(facts &f) {
    const problem &p = f.run();
    const bool by_rows = p.grouped == grouping::rows;
    f.matrix_rows = f.family.is_xe() ? f.linear_rows : by_rows ? p.m() : f.rows.likely;
    if (!f.empty)
        f.matrices = by_rows ? p.likely_groups : p.batch() * p.m() / f.matrix_rows;
}

// Those of the tensors as they were asked.
void derive_alignments(facts &f) {
    if (!f.family.is_xe() || f.empty)
        return;
    if (f.src_reading != reading::elements && !f.arranged)
        f.src_alignment = block_load_alignment;
    if (f.wei_reading != reading::elements)
        f.wei_alignment = block_load_alignment;
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

zemm_dim_t facts::k_range(zemm_dim_t ranges) const {
    return std::min(run().k(), up(checked_ceil_div(run().k(), ranges, "K"), range_unit));
}

laid_out_problem::laid_out_problem(const struct problem &p, const memory_desc &wei,
                                   const problem_facts &of_problem, bool reads_packed)
    : problem(with_weights(p, wei)), is_packed(reads_packed && is_packed_weights(wei)),
      is_foreign(!is_packed && !md_is_plain(wei)),
      wei_unit(is_packed ? UNIT_PACKED : contiguous_dim(wei, wei.ndims - 2, of_problem)),
      wei_in_blocks_2d(md_is_plain(wei) && can_read_wei_2d(wei)),
      has_near_columns(wei.strides[wei.ndims - 1] == 1) {}

facts facts_of(const kernel_row &row, const problem_facts &of_problem,
               std::shared_ptr<const laid_out_problem> laid_out) {
    facts f = {of_problem};
    f.row = &row;
    f.family = row.traits();
    f.laid_out = std::move(laid_out);
    f.arranged = arrange_src(f.asked(), of_problem, row);
    if (f.arranged)
        static_cast<problem_facts &>(f) = facts_of(f.arranged->problem, f.arranged->seen_src);
    f.src_reading = reading_of_src(f);
    f.wei_reading = reading_of_wei(f);
    derive_matrices(f);
    derive_alignments(f);
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

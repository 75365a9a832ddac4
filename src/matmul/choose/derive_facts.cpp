// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/facts.hpp"

#include <algorithm>

#include "kernels/args/matmul_args.h"
#include "matmul/choose/arithmetic.hpp"
#include "matmul/choose/arrangement.hpp"
#include "matmul/choose/cpu_rules.hpp"
#include "matmul/choose/registers.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

// UNIT_...: along which of the last two dimensions sixteen elements can be loaded at a time. k_dim: the
// dimension of K. Runs must begin at a whole byte. Runs along K begin where parts of K do.
uint32_t contiguous_dim(const memory_desc &md, int k_dim, const problem_facts &f) {
    const int row = md.ndims - 2, column = md.ndims - 1;
    const auto whole_bytes = [&](int inner) {
        const int span = span_of(md.data_type);
        return (inner != k_dim || f.begins_at(span)) && md_rows_begin_at(md, inner, span);
    };
    if (md.dims[column] > 1 && md.strides[column] == 1 && whole_bytes(column))
        return UNIT_COLUMN;
    if (md.dims[row] > 1 && md.strides[row] == 1 && whole_bytes(row))
        return UNIT_ROW;
    return UNIT_NONE;
}

// ---- which tensors the block loads of Intel GPUs can read

// Bytes. The address of a tensor that block loads read must be a multiple of this.
constexpr size_t block_load_alignment = 4;

// The hardware's limits for a matrix that 2-D block loads read: alignment of its base, length of
// its rows and their pitch, all in bytes. inner is the contiguous dimension. Its rows must be
// multiples of 4 bytes, or the load would read past their end. They must be 64 bytes shorter than
// the limit, because the kernel rounds the base down to a multiple of 64
// (owner/sub_group/surface.h).
bool can_read_2d(const memory_desc &md, int inner, int outer, zemm_dim_t outer_dim) {
    constexpr zemm_dim_t limit = 1 << 24;
    const auto is_multiple = [&](zemm_dim_t elements, zemm_dim_t unit) {
        const zemm_dim_t bytes = byte_of(md.data_type, elements);
        return elements % span_of(md.data_type) == 0 && bytes % unit == 0;
    };
    if (md.strides[inner] != 1 || outer_dim >= limit || !is_multiple(md.dims[inner], 4) ||
        byte_of(md.data_type, md.dims[inner]) < 64 || byte_of(md.data_type, md.dims[inner]) > limit - 64 ||
        !is_multiple(md.offset0, 4))
        return false;
    for (int d = 0; d < md.ndims - 2; ++d)
        if (md.dims[d] > 1 && !is_multiple(md.strides[d], 4))
            return false;
    const zemm_dim_t pitch = outer_dim == 1 ? zemm_dim_t(64) : md.strides[outer];
    return is_multiple(pitch, 16) && byte_of(md.data_type, pitch) < limit;
}

bool can_read_src_1d(const memory_desc &src) {
    const int column = src.ndims - 1;
    const auto is_aligned = [&](zemm_dim_t elements) { return byte_of(src.data_type, elements) % 4 == 0; };
    if (src.strides[column] != 1 || !is_aligned(src.dims[column]) || !is_aligned(src.offset0))
        return false;
    for (int d = 0; d < column; ++d)
        if (src.dims[d] > 1 && !is_aligned(src.strides[d]))
            return false;
    return true;
}

// rows: of one matrix of src.
bool can_read_src_2d(const memory_desc &src, zemm_dim_t rows) {
    const int column = src.ndims - 1;
    return can_read_2d(src, column, column - 1, rows);
}

// Of types of 4 bits such loads read columns along K only, of those of 2 bits none: these become bytes, and a
// load is for the elements of a step.
bool can_read_wei_2d(const memory_desc &wei) {
    const int row = wei.ndims - 2, column = row + 1;
    if (data_type_bits(wei.data_type) == 2)
        return false;
    return (data_type_bits(wei.data_type) >= 8 && can_read_2d(wei, column, row, wei.dims[row])) ||
           can_read_2d(wei, row, column, wei.dims[column]);
}

// ---- how a row reads and multiplies a problem

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

// Whether unpacking 2-bit weights leaves too few registers to GPUs without XMX for a K that ends inside a
// panel.
bool unpacks_tail_of_quarters(const facts &f) {
    const problem &p = f.run();
    return f.family.multiplies_by == multiplier::dp4a && data_type_bits(p.wei.data_type) == 2 &&
           f.row->tile_k > f.step && p.k() % f.row->tile_k != 0;
}

int panel_of(const facts &f) {
    // Weights that are split into two bf16 take twice the registers.
    const bool is_half = f.products == 3 || has_zero_points_beside(f) || unpacks_tail_of_quarters(f);
    zemm_dim_t panel = is_half ? f.row->tile_k / 2 : f.row->tile_k;
    while (!f.empty && !f.is_one_segment && f.segment % panel != 0 && panel > f.step)
        panel -= f.step;
    return int(panel);
}

int panels_of(const facts &f) {
    // With float src, scales and zero points are read for two panels at a time. Integer rows have
    // no registers for that. If all of K is one segment, a range may have an odd number of panels.
    const bool are_two = f.family.multiplies_by == multiplier::dpas && f.converts_weights() &&
                         f.scales_along_k && f.segment < f.run().k() && f.segment % (2 * f.panel_k) == 0 &&
                         f.last_segment % (2 * f.panel_k) == 0;
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

// Alignments of the tensors as the caller has them.
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

bool facts::waits_for_panel() const {
    return family.widens_bytes && laid_out->wei_unit == UNIT_ROW;
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
    if (row.is_xe())
        f.arranged = arrange_src(f.asked(), of_problem, row);
    if (f.arranged)
        static_cast<problem_facts &>(f) = facts_of(f.arranged->problem, f.arranged->seen_src);
    f.src_reading = reading_of_src(f);
    f.wei_reading = reading_of_wei(f);
    derive_matrices(f);
    derive_alignments(f);
    f.is_without_panel = multiplies_along_k(f);
    f.may_be_abreast = !f.family.keeps_segments && has_few_rows_along_n(f);
    f.range_unit = f.segment < f.run().k() || f.scales_along_k
                       ? f.segment
                       : std::min<zemm_dim_t>(row.tile_k, f.shortest_range);
    const zemm_data_type_t src = f.run().src.data_type, wei = f.run().wei.data_type;
    const bool has_tiles_of_bf16 =
        f.family.has_tiles() && row.multiplies == operands::half && !f.family.half_is_f16;
    f.splits_src = has_tiles_of_bf16 && src == zemm_f16;
    f.splits_wei = has_tiles_of_bf16 && wei == zemm_f16;
    if (!f.family.is_xe())
        return f;
    f.narrows_f32 = row.multiplies == operands::half && src == zemm_f32;
    f.step = step_of(f);
    f.products = products_of_one(f);
    f.splits_src = f.products > 1;
    f.panel_k = panel_of(f);
    f.panels = panels_of(f);
    f.registers = registers_of(f);
    return f;
}

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
    const zemm_dim_t segment = shared_k_group(p, {g.src_scale, g.wei_scale, g.src_zp, g.wei_zp, g.reduction});
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

problem_facts facts_of(const problem &p) {
    return facts_of(p, p.src);
}

problem_facts facts_of(const problem &p, const memory_desc &seen_src) {
    problem_facts f = {};
    f.empty = p.empty();
    f.is_bare_s32 = is_bare_s32(p);
    f.subtracts_floats = p.integer() && p.has_float_zero_points();
    f.allows_bf16 =
        p.attr.fpmath_mode.mode == zemm_fpmath_mode_bf16 || p.attr.fpmath_mode.mode == zemm_fpmath_mode_any;

    const k_groups g = k_groups_of(p);
    f.segment = segment_of(p, f, g);
    f.last_segment = f.empty || p.k() % f.segment == 0 ? f.segment : p.k() % f.segment;
    f.is_one_segment = f.segment == p.k();
    f.part_unit = p.grouped == grouping::k ? 1 : f.is_one_segment ? 0 : f.segment;
    const auto changes = [&](zemm_dim_t group) { return group != 0 && group != p.k(); };
    const auto fits = [&](zemm_dim_t group) { return !changes(group) || group == f.segment; };
    f.along_k = {changes(g.src_scale), changes(g.wei_scale), changes(g.src_zp), changes(g.wei_zp)};
    f.has_equal_groups = fits(g.src_scale) && fits(g.wei_scale) && fits(g.src_zp) && fits(g.wei_zp);
    f.scales_along_k = f.along_k.src_scale || f.along_k.wei_scale || f.subtracts_floats || p.has_offsets();
    f.longest_range = f.empty || f.scales_along_k ? p.k() : longest_range(p, f.segment);
    f.reduction_group = g.reduction;

    derive_rows(f, p);
    f.src_unit = contiguous_dim(seen_src, p.ndims() - 1, f);
    f.src_in_blocks_1d = can_read_src_1d(seen_src);
    f.src_in_blocks_2d = can_read_src_2d(seen_src, f.linear_rows);
    return f;
}

} // namespace zemm::matmul

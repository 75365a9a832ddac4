// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/quant_md.hpp"
#include "matmul/block.hpp"
#include "matmul/pack_first.hpp"
#include "matmul/packing.hpp"
#include "matmul/plan_xe.hpp"
#include "matmul/sums.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;

// Sums of src over segments, [src batch.., M, K / segment] s32, dense: what reduce_src writes or the caller
// passes.
memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    zemm_dims_t dims;
    std::copy(p.src.dims, p.src.dims + p.ndims(), dims);
    dims[p.ndims() - 1] = groups(p.k(), segment, "K");
    return md_dense(p.ndims(), dims, zemm_s32);
}

// Whether bytes of the weights and of src have the same signedness, where a policy needs the opposite one.
bool changes_signedness(const problem &p) {
    const bool signed_src = is_signed(p.src.data_type), signed_wei = is_signed(p.wei.data_type);
    // 0..15 are either; a signed s4 is only a shift away.
    return is_int4(p.wei.data_type) ? signed_wei && signed_src : signed_wei == signed_src;
}

// Bytes of the scratchpad; where they begin.
size_t take(plan &p, size_t bytes) {
    const size_t at = size_t(up(zemm_dim_t(p.scratchpad_size), scratchpad_alignment));
    p.scratchpad_size = at + bytes;
    return at;
}

// Whether every parameter that changes along K does so at each segment.
bool groups_are_equal(const problem &p) {
    const zemm_dim_t segment = k_segment(p);
    const auto fits = [&](const quant_entry *entry, bool k_is_row) {
        return !changes_along_k(p, entry, k_is_row) || k_group(p, *entry, k_is_row) == segment;
    };
    return fits(p.scale(ZEMM_ARG_SRC), false) && fits(p.zero_point(ZEMM_ARG_SRC), false) &&
           fits(p.scale(ZEMM_ARG_WEIGHTS), true) && fits(p.zero_point(ZEMM_ARG_WEIGHTS), true);
}

uint32_t flags_of(const problem &p, const kernel_row &row) {
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    const quant_entry *src_scale = p.scale(ZEMM_ARG_SRC), *wei_scale = p.scale(ZEMM_ARG_WEIGHTS);
    const quant_entry *wei_zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    set(p.integer(), FLAG_INTEGER);
    set(p.zero_point(ZEMM_ARG_SRC), FLAG_SRC_ZP);
    set(wei_zp, FLAG_WEI_ZP);
    set(changes_along_k(p, wei_zp, true), FLAG_WEI_ZP_K);
    set(p.integer() && (wei_zp || (row.multiplies == operands::int8 && changes_signedness(p))),
        FLAG_REDUCTIONS);
    set(src_scale, FLAG_SRC_SCALE);
    set(wei_scale, FLAG_WEI_SCALE);
    set(changes_along_k(p, src_scale, false), FLAG_SRC_SCALE_K);
    set(changes_along_k(p, wei_scale, true), FLAG_WEI_SCALE_K);
    set(groups_are_equal(p), FLAG_EQUAL_GROUPS);
    set(p.has_bias(), FLAG_BIAS);
    set(!p.attr.post_ops.entries.empty(), FLAG_POST_OPS);
    set(p.scale(ZEMM_ARG_DST), FLAG_DST_SCALE);
    set(p.zero_point(ZEMM_ARG_DST), FLAG_DST_ZP);
    set(is_bare_s32(p), FLAG_EXACT_S32);
    set(longest_range(p) < p.k(), FLAG_WIDE_SUMS);
    return flags;
}

// Which of the last two dimensions can be read sixteen elements at a time. 4-bit types: every run of elements
// must begin at a whole byte, in particular those along K, which begin at each segment.
uint32_t unit_dim(const memory_desc &md, zemm_dim_t segment) {
    if (is_packed(md))
        return UNIT_PACKED;
    const int row = md.ndims - 2, column = md.ndims - 1;
    const auto whole_bytes = [&](int inner) {
        if (!is_int4(md.data_type))
            return true;
        for (int d = 0; d < md.ndims; ++d)
            if (d != inner && md.dims[d] > 1 && md.strides[d] % 2 != 0)
                return false;
        return md.offset0 % 2 == 0;
    };
    if (md.dims[column] > 1 && md.strides[column] == 1 && whole_bytes(column))
        return UNIT_COLUMN;
    const bool whole_segments = !is_int4(md.data_type) || segment % 2 == 0 || segment == md.dims[row];
    if (md.dims[row] > 1 && md.strides[row] == 1 && whole_bytes(row) && whole_segments)
        return UNIT_ROW;
    return UNIT_NONE;
}

// As the specialisation constants have it: 0 for host scalars, and where there is no parameter.
uint32_t parameter_type(const quant_entry *entry) {
    return entry && !entry->is_on_host ? uint32_t(entry->data_type) : 0;
}

// Less than this is not worth a second launch: some microseconds of one core.
constexpr zemm_dim_t worth_splitting = 1 << 22; // multiply-adds of at least 16 rows
constexpr zemm_dim_t shortest_range = 512;      // of K

// The share of each work-item: tiles of nearly equal height, and some groups for every core. Where there are
// too few columns for that, tiles get lower, then K is split, then tiles get as low as they can. Ranges of K
// have at most so many elements, whatever that takes.
void cut(const ze::device &dev, zemm_dim_t batch, zemm_dim_t longest_range, plan &result) {
    const kernel_row &row = *result.row;
    matmul_problem &block = result.block;
    result.group_size = {uint32_t(row.group_x), 1, 1};
    const zemm_dim_t along_n = groups(block.n, zemm_dim_t(row.tile_n) * row.group_x, "N");
    const zemm_dim_t enough = dev.kind == zemm_cpu ? 4 * zemm_dim_t(dev.compute_units) : 8;
    const zemm_dim_t wanted = groups(enough, along_n * batch, "a device");
    const zemm_dim_t fewest = groups(block.rows, row.tile_m, "M");
    const auto tiles_of = [&](zemm_dim_t rows) {
        return std::max(fewest, std::min(wanted, groups(block.rows, rows, "M")));
    };
    zemm_dim_t tiles = tiles_of(up(16, row.rows)), ranges = 1;
    if (std::max<zemm_dim_t>(block.rows, 16) * batch * block.n >= worth_splitting / block.k)
        ranges = std::min(groups(enough, tiles * along_n * batch, "K"), block.k / shortest_range);
    ranges = std::max(ranges, groups(block.k, longest_range, "K"));
    block.k_range = k_range(block.k, block.segment, row.tile_k, ranges);
    ranges = groups(block.k, block.k_range, "K");
    if (ranges == 1)
        tiles = tiles_of(row.rows);
    block.tile_rows = int32_t(groups(block.rows, tiles, "M"));
    const zemm_dim_t along_m = groups(block.rows, block.tile_rows, "M");
    result.group_count = {uint32_t(groups(along_m * along_n, 1, "M x N")), uint32_t(batch), uint32_t(ranges)};
    if (ranges == 1)
        return;
    block.finish_rows = int32_t(groups(block.rows, std::min(block.rows, wanted), "M"));
    result.finish_count = {uint32_t(groups(groups(block.rows, block.finish_rows, "M") * along_n, 1, "M x N")),
                           uint32_t(batch), 1};
    take_partials(result, along_n * row.tile_n * row.group_x, ranges);
}

} // namespace

zemm_dim_t k_range(zemm_dim_t k, zemm_dim_t segment, int tile_k, zemm_dim_t ranges) {
    return std::min(k, up(groups(k, ranges, "K"), segment < k ? segment : tile_k));
}

void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges) {
    matmul_problem &block = p.block;
    block.partial_row = columns;
    block.partial_range = block.partial_row * block.rows * p.group_count[1];
    p.partials_at = take(p, size_t(block.partial_range * ranges) * sizeof(float));
}

bool multiplies_along_k(const problem &p, const kernel_row &row) {
    constexpr zemm_dim_t most_rows = 6; // with more it is better to arrange the weights as a panel
    return row.multiplies == operands::int8 && row.lanes == 16 && !p.empty() &&
           p.batch() * p.m() <= most_rows && k_segment(p) % 64 == 0 &&
           unit_dim(p.wei, k_segment(p)) == UNIT_ROW;
}

plan make_plan(const candidate &c, const ze::device &dev) {
    plan result = {};
    const kernel_row &row = *c.row;
    result.row = &row;
    const std::shared_ptr<const packing> first =
        row.work_items > 1 ? c.packs_first : pack_for_cpu(*c.problem, row, dev);
    if (first) {
        result.pack = first->move;
        result.packed_at = take(result, md_size(first->problem->wei));
    }
    const problem &p = first ? *first->problem : *c.problem;
    result.block = make_block(p);
    matmul_problem &block = result.block;
    if (p.empty())
        return result; // nothing is launched
    if (is_packed(p.wei))
        block.wei_panel = p.wei.strides[p.ndims() - 1];

    const bool is_xe = row.work_items > 1;
    if (is_xe)
        block.rows = xe_rows(p);
    uint32_t flags = flags_of(p, row);
    const zemm_dim_t batch = groups(p.batch() * block.m / block.rows, 1, "the batch");
    int block_k = row.tile_k;
    if (is_xe) {
        block_k = xe_panel_k(p, row) * xe_panels(p, row);
        flags |= xe_flags(p, row, block);
        xe_pitches(p, block);
        if (xe_src_load(p, row) != kernels::SRC_LOAD_GATHER)
            result.src_alignment = block_load_alignment;
        if ((flags & FLAG_WEI_2D) || is_packed(c.problem->wei)) // the caller's
            result.wei_alignment = block_load_alignment;
        xe_cut(c.dealt, dev, batch, result);
    } else {
        cut(dev, batch, longest_range(p), result);
    }
    // Sums of ranges have to fit with all that belongs to them.
    if ((flags & FLAG_WIDE_SUMS) && block.segment == block.k)
        block.segment = block.k_range;

    if (block.segment <= block_k)
        flags |= FLAG_WHOLE_SEGMENTS;
    if (row.multiplies == operands::int8 && p.k() % 4 != 0)
        flags |= FLAG_QUAD_TAIL;
    if (!is_xe && is_packed(p.wei) && block.tile_rows <= row.rows)
        flags |= FLAG_ONE_GROUP;
    if (multiplies_along_k(p, row))
        flags |= FLAG_ALONG_K;
    if (result.local_bytes != 0)
        flags |= FLAG_SLICES;
    const bool is_split = block.k_range < block.k;
    const auto constants = [&](kernels::stage stage) {
        std::vector<ze::spec_constant> result = {
            {SPEC_SRC_DT, uint32_t(p.src.data_type)},
            {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
            {SPEC_DST_DT, uint32_t(p.dst.data_type)},
            {SPEC_FLAGS, flags},
            {SPEC_STAGE, stage},
            {SPEC_ZP_TERM, is_xe ? xe_zp_term(p, row) : kernels::ZP_TERM_S32},
            {SPEC_WEI_UNIT, unit_dim(p.wei, block.segment)},
            {SPEC_SRC_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_SRC))},
            {SPEC_WEI_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_WEIGHTS))},
            {SPEC_SRC_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_SRC))},
            {SPEC_WEI_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_WEIGHTS))}};
        // Drivers refuse constants that a module has not.
        if (is_xe) {
            result.push_back({SPEC_PANEL_K, uint32_t(xe_panel_k(p, row))});
            result.push_back({SPEC_PANELS, uint32_t(xe_panels(p, row))});
            result.push_back({SPEC_SRC_LOAD, xe_src_load(p, row)});
        } else {
            result.push_back({SPEC_SRC_UNIT, unit_dim(p.src, block.segment)});
        }
        return result;
    };
    result.constants = constants(is_split ? kernels::STAGE_PARTIAL : kernels::STAGE_WHOLE);
    if (is_split)
        result.finish_constants = constants(kernels::STAGE_FINISH);

    if (flags & FLAG_REDUCTIONS) {
        const memory_desc md = reductions_md(p, block.segment);
        block.reductions = tensor(md);
        // The caller's may be of more than a segment.
        result.computes_reductions = !p.reduction() || k_group(p, *p.reduction(), false) != block.segment;
        if (result.computes_reductions) {
            result.reduce_constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
                                       {SPEC_SRC_UNIT, unit_dim(p.src, block.segment)}};
            result.reductions_at = take(result, md_size(md));
            result.reduce_count = {uint32_t(groups(md.dims[p.ndims() - 1], REDUCE_SEGMENTS, "K")),
                                   uint32_t(groups(p.batch() * p.m(), 1, "M")), 1};
        }
    }
    return result;
}

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/plan.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/quant_md.hpp"
#include "matmul/choose/block_loads.hpp"
#include "matmul/choose/layouts.hpp"
#include "matmul/plan/argument_block.hpp"
#include "matmul/plan/arranged_src.hpp"
#include "matmul/plan/constants.hpp"
#include "matmul/plan/plan_xe.hpp"
#include "matmul/problem/sums.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;

// Sums of src over each segment, dense s32 [src batch.., M, K / segment]: reduce_src writes them or
// the caller passes them.
memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    zemm_dims_t dims;
    std::copy(p.src.dims, p.src.dims + p.ndims(), dims);
    dims[p.ndims() - 1] = checked_ceil_div(p.k(), segment, "K");
    return md_dense(p.ndims(), dims, zemm_s32);
}

// Takes so many bytes of the scratchpad. Returns their offset.
size_t take(plan &p, size_t bytes) {
    const size_t at = size_t(up(zemm_dim_t(p.scratchpad_size), scratchpad_alignment));
    p.scratchpad_size = at + bytes;
    return at;
}

// A problem with fewer multiply-adds than this is not worth a second launch: it takes one core some
// microseconds. Fewer than 16 rows count as 16, for they take no less time.
constexpr zemm_dim_t worth_splitting = 1 << 22; // multiply-adds
constexpr zemm_dim_t shortest_range = 512;      // elements of K

// Whether K may be split for the number of a CPU's threads. Floats round otherwise with other ranges, and a
// deterministic matmul gives the same bits with any number of threads.
bool may_split(const facts &f) {
    const problem &p = f.run();
    const bool is_exact = p.integer() && !f.scales_along_k;
    return p.grouped != grouping::k && (is_exact || !p.attr.deterministic);
}

// How many neighbouring tiles a work-item computes (FLAG_ABREAST): as many as leave enough
// work-items, for few rows of bytes and plain weights that lie along N.
zemm_dim_t tiles_abreast(const facts &f, zemm_dim_t rows, zemm_dim_t tiles, zemm_dim_t enough) {
    if (!f.may_be_abreast || f.row->multiplies != operands::int8 || f.family.has_tiles() ||
        f.row->rows_at_once > 8)
        return 1;
    const zemm_dim_t most = std::min<zemm_dim_t>(MOST_ABREAST, f.row->tile_m / rows);
    zemm_dim_t abreast = 1;
    while (2 * abreast <= most && 2 * abreast * enough <= tiles)
        abreast *= 2;
    return abreast;
}

// Cuts a problem for rows where a work-item owns a tile: tiles of nearly equal height, and about
// four work-groups for every core. If there are too few tiles for that, they first get lower, down
// to 16 rows. Then K is split into ranges. If K is not split, tiles get as low as the policy
// allows. A choice replaces the height of tiles, the number of ranges, or both. With groups of rows, the
// height of tiles is the most that they may have.
void cut(const facts &f, const cut_choice &chosen, const ze::device &dev, zemm_dim_t batch, plan &result) {
    const kernel_row &row = *f.row;
    matmul_problem &block = result.argument_block;
    const bool by_rows = f.run().grouped == grouping::rows;
    const zemm_dim_t rows = f.run().rows_of_weights();
    if (chosen.slices != 0)
        fail(zemm_unimplemented, "%s does not cut ranges of K into slices", row.name);
    if (chosen.rows > row.tile_m)
        fail(zemm_unimplemented, "%s has tiles of at most %d rows, not %lld", row.name, row.tile_m,
             (long long)chosen.rows);
    result.group_size = {uint32_t(row.group_x), 1, 1};
    const zemm_dim_t enough = dev.kind == zemm_cpu ? 4 * zemm_dim_t(dev.compute_units) : 8;
    const zemm_dim_t tiles_along_n = checked_ceil_div(block.n, zemm_dim_t(row.tile_n) * row.group_x, "N");
    block.abreast = int32_t(tiles_abreast(f, rows, tiles_along_n, enough));
    const zemm_dim_t along_n = checked_ceil_div(tiles_along_n, block.abreast, "N");
    const zemm_dim_t wanted = checked_ceil_div(enough, along_n * batch, "a device");
    const zemm_dim_t fewest = checked_ceil_div(rows, row.tile_m, "M");
    const auto tiles_of = [&](zemm_dim_t height) {
        return std::max(fewest, std::min(wanted, checked_ceil_div(rows, height, "M")));
    };
    zemm_dim_t tiles = tiles_of(up(16, row.rows_at_once)), ranges = 1;
    if (may_split(f) && std::max<zemm_dim_t>(rows, 16) * batch * block.n >= worth_splitting / block.k)
        ranges = std::min(checked_ceil_div(enough, tiles * along_n * batch, "K"), block.k / shortest_range);
    ranges = std::max(chosen.ranges != 0 ? chosen.ranges : ranges,
                      checked_ceil_div(block.k, f.longest_range, "K"));
    block.k_range = k_range(f, ranges);
    ranges = checked_ceil_div(block.k, block.k_range, "K");
    if (chosen.ranges != 0 && chosen.ranges != ranges)
        fail(zemm_unimplemented, "K of %lld has %lld ranges for %s, not %lld", (long long)block.k,
             (long long)ranges, row.name, (long long)chosen.ranges);
    if (ranges == 1)
        tiles = tiles_of(row.rows_at_once);
    block.tile_rows = int32_t(chosen.rows != 0 ? chosen.rows : checked_ceil_div(rows, tiles, "M"));
    if (f.family.has_tiles()) // it multiplies whole groups of rows, so that only the last may be cut
        block.tile_rows = int32_t(up(block.tile_rows, row.rows_at_once));
    const zemm_dim_t along_m = by_rows ? 1 : checked_ceil_div(rows, block.tile_rows, "M");
    block.strip = int32_t(strip_of(chosen, 1, along_m, row));
    result.group_count = {work_groups(along_m * along_n, 1, "M x N"), uint32_t(by_rows ? 1 : batch),
                          uint32_t(ranges)};
    if (ranges == 1)
        return;
    const zemm_dim_t finish_rows = checked_ceil_div(rows, std::min(rows, wanted), "M");
    block.finish_rows = int32_t(std::min<zemm_dim_t>(finish_rows, row.tile_m)); // a tile holds no more
    const zemm_dim_t finish_along_m = by_rows ? 1 : checked_ceil_div(rows, block.finish_rows, "M");
    result.finish_count = {work_groups(finish_along_m * tiles_along_n, 1, "M x N"), result.group_count[1], 1};
    take_partials(result, tiles_along_n * row.tile_n * row.group_x, ranges);
}

} // namespace

zemm_dim_t strip_of(const cut_choice &chosen, zemm_dim_t best, zemm_dim_t along_m, const kernel_row &row) {
    if (chosen.strip > along_m)
        fail(zemm_unimplemented, "M has %lld work-groups for %s, a strip has no %lld", (long long)along_m,
             row.name, (long long)chosen.strip);
    return chosen.strip != 0 ? chosen.strip : std::clamp<zemm_dim_t>(best, 1, along_m);
}

zemm_dim_t k_range(const facts &f, zemm_dim_t ranges) {
    const zemm_dim_t k = f.run().k();
    return std::min(k, up(checked_ceil_div(k, ranges, "K"), f.range_unit));
}

void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges) {
    matmul_problem &block = p.argument_block;
    block.partial_row = columns;
    block.partial_range = block.partial_row * block.rows * p.group_count[1];
    p.partials_at = take(p, size_t(block.partial_range * ranges) * sizeof(float));
}

plan make_plan(const candidate &c, const ze::device &dev) {
    plan result = {};
    const facts &f = c.run();
    const kernel_row &row = *f.row;
    const problem &p = f.run();
    result.row = &row;
    if (c.packed) {
        result.pack = c.asked.packing->move;
        result.packed_at = take(result, md_size(p.wei));
    }
    if (c.widening) {
        result.widen = c.widening->move;
        result.wide_at = take(result, md_size(p.src));
    }
    if (f.arranged) {
        result.arrange = plan_arranging(f.asked(), row, p.src);
        result.arranged_at = take(result, arranged_bytes(p.src));
    }
    result.argument_block = make_argument_block(f);
    matmul_problem &block = result.argument_block;
    if (f.empty)
        return result; // nothing is launched

    const bool is_xe = row.is_xe();
    uint32_t flags = common_flags(f);
    const zemm_dim_t batch = p.grouped == grouping::rows
                                 ? p.likely_groups
                                 : checked_ceil_div(p.batch() * block.m / block.rows, 1, "the batch");
    if (is_xe) {
        flags |= xe_flags(f);
        xe_pitches(f, block);
        if (f.src != reading::elements && !f.arranged)
            result.src_alignment = block_load_alignment;
        if (c.asked.wei != reading::elements) // the caller's
            result.wei_alignment = block_load_alignment;
        xe_cut(c.dealt, c.cut, dev, batch, result);
    } else {
        cut(f, c.cut, dev, batch, result);
    }
    // With wide sums, the sum of a range must fit into an s32 together with its zero-point terms.
    // So each range becomes a segment, which has its own sums of src.
    if ((flags & FLAG_WIDE_SUMS) && block.segment == block.k)
        block.segment = block.k_range;

    const zemm_dim_t block_k = is_xe                ? f.panel_k * f.panels
                               : f.is_without_panel ? BLOCK_ALONG_K
                               : block.abreast > 1  ? BLOCK_ABREAST
                                                    : row.tile_k;
    // If K is one segment, it may be cut into ranges.
    if (block.segment <= std::min<zemm_dim_t>(block_k, block.k_range))
        flags |= FLAG_WHOLE_SEGMENTS;
    // A part of K ends where another one begins, or where K ends.
    if (multiplies_quads(f) && (!f.has_quads() || p.k() % 4 != 0))
        flags |= FLAG_QUAD_TAIL;
    if (!is_xe && (f.wei == reading::packed || is_read_in_rows(f)) && block.tile_rows <= row.rows_at_once)
        flags |= FLAG_ONE_GROUP;
    if (f.is_without_panel)
        flags |= FLAG_ALONG_K;
    if (block.abreast > 1)
        flags |= FLAG_ABREAST;
    if (result.local_bytes != 0)
        flags |= FLAG_SLICES;
    result.flags = flags;
    const bool is_split = block.k_range < block.k;
    if (is_xe) {
        result.constants = xe_constants(f, flags, is_split ? kernels::STAGE_PARTIAL : kernels::STAGE_WHOLE);
        if (is_split)
            result.finish_constants = xe_constants(f, flags, kernels::STAGE_FINISH);
    } else {
        result.constants = cpu_constants(f, dev, flags);
        if (is_split)
            result.finish_constants = cpu_finish_constants(flags);
    }

    if (flags & FLAG_REDUCTIONS) {
        const memory_desc md = reductions_md(p, block.segment);
        block.reductions = tensor(md);
        // The caller's sums may cover several segments: then they are of no use.
        result.computes_reductions = !p.reduction() || k_group(p, *p.reduction(), false) != block.segment;
        if (result.computes_reductions) {
            result.reduce_constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)}, {SPEC_SRC_UNIT, f.src_unit}};
            result.reductions_at = take(result, md_size(md));
            result.reduce_count = {work_groups(md.dims[p.ndims() - 1], REDUCE_SEGMENTS, "K"),
                                   work_groups(p.rows_of_dst(), 1, "M"), 1};
        }
    }
    return result;
}

} // namespace zemm::matmul

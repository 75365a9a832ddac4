// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/quant_md.hpp"
#include "matmul/argument_block.hpp"
#include "matmul/arranged_src.hpp"
#include "matmul/block_loads.hpp"
#include "matmul/layouts.hpp"
#include "matmul/plan_xe.hpp"
#include "matmul/sums.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm::matmul {

namespace {

using kernels::matmul_problem;

// Sums of src over each segment, dense s32 [src batch.., M, K / segment]: reduce_src writes them or
// the caller passes them.
memory_desc reductions_md(const problem &p, zemm_dim_t segment) {
    zemm_dims_t dims;
    std::copy(p.src.dims, p.src.dims + p.ndims(), dims);
    dims[p.ndims() - 1] = groups(p.k(), segment, "K");
    return md_dense(p.ndims(), dims, zemm_s32);
}

// Whether quads are multiplied by vector instructions.
bool multiplies_quads(const facts &f) {
    return f.row->multiplies == operands::int8 && f.family.multiplies_by == multiplier::vectors;
}

// Whether the policy has to flip the sign bit of the weights, because src and weights are both signed
// or both unsigned: x86 instructions for bytes take one unsigned and one signed operand.
bool changes_signedness(const facts &f) {
    const problem &p = f.problem();
    const bool signed_src = is_signed(p.src.data_type), signed_wei = is_signed(p.wei.data_type);
    if (!multiplies_quads(f))
        return false;
    // u4 fits an unsigned and a signed byte. s4 has to change only beside a signed src.
    return is_int4(p.wei.data_type) ? signed_wei && signed_src
                                    : signed_wei == signed_src && !f.family.widens_bytes;
}

// Takes so many bytes of the scratchpad. Returns their offset.
size_t take(plan &p, size_t bytes) {
    const size_t at = size_t(up(zemm_dim_t(p.scratchpad_size), scratchpad_alignment));
    p.scratchpad_size = at + bytes;
    return at;
}

// Whether every scale and zero point that changes along K has groups of exactly one segment.
bool groups_are_equal(const facts &f) {
    const problem &p = f.problem();
    const auto fits = [&](const quant_entry *entry, bool k_is_row) {
        return !changes_along_k(p, entry, k_is_row) || k_group(p, *entry, k_is_row) == f.segment;
    };
    return fits(p.scale(ZEMM_ARG_SRC), false) && fits(p.zero_point(ZEMM_ARG_SRC), false) &&
           fits(p.scale(ZEMM_ARG_WEIGHTS), true) && fits(p.zero_point(ZEMM_ARG_WEIGHTS), true);
}

constexpr uint32_t scaled_along_k = FLAG_SRC_SCALE_K | FLAG_WEI_SCALE_K;

uint32_t flags_of(const facts &f) {
    const problem &p = f.problem();
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    const quant_entry *src_scale = p.scale(ZEMM_ARG_SRC), *wei_scale = p.scale(ZEMM_ARG_WEIGHTS);
    const quant_entry *wei_zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    set(p.integer(), FLAG_INTEGER);
    set(p.zero_point(ZEMM_ARG_SRC), FLAG_SRC_ZP);
    set(wei_zp, FLAG_WEI_ZP);
    set(changes_along_k(p, wei_zp, true), FLAG_WEI_ZP_K);
    set(p.integer() && (wei_zp || changes_signedness(f)), FLAG_REDUCTIONS);
    set(p.has_float_zero_points(), FLAG_FLOAT_ZP);
    set(src_scale, FLAG_SRC_SCALE);
    set(wei_scale, FLAG_WEI_SCALE);
    set(changes_along_k(p, src_scale, false), FLAG_SRC_SCALE_K);
    set(changes_along_k(p, wei_scale, true), FLAG_WEI_SCALE_K);
    // If no scale changes along K, those of the weights scale each segment: by 1 if there are none.
    set(f.scales_along_k && !(flags & scaled_along_k), FLAG_WEI_SCALE | FLAG_WEI_SCALE_K);
    set(groups_are_equal(f), FLAG_EQUAL_GROUPS);
    set(p.has_bias(), FLAG_BIAS);
    set(!p.attr.post_ops.entries.empty(), FLAG_POST_OPS);
    set(p.scale(ZEMM_ARG_DST), FLAG_DST_SCALE);
    set(p.zero_point(ZEMM_ARG_DST), FLAG_DST_ZP);
    set(is_bare_s32(p), FLAG_EXACT_S32);
    set(f.longest_range < p.k(), FLAG_WIDE_SUMS);
    return flags;
}

constexpr zemm_dim_t most_rows_abreast = 16; // see tiles_abreast()

// Whether all groups of K leave their zero-point terms to the end, where zero points and scales of the
// weights are the same along K. Until then sums are larger by the zero points' distance from their
// mean, and round more coarsely, but less so than f16 and bf16. Not with tiles abreast, which have a
// mean each.
bool may_end_with_term(const facts &f) {
    const problem &p = f.problem();
    const bool may_be_abreast = f.laid_out->wei_unit == UNIT_COLUMN && p.m() <= most_rows_abreast;
    return !f.family.is_xe() && !may_be_abreast &&
           (p.dst.data_type == zemm_f16 || p.dst.data_type == zemm_bf16) &&
           !changes_along_k(p, p.zero_point(ZEMM_ARG_WEIGHTS), true) &&
           !changes_along_k(p, p.scale(ZEMM_ARG_WEIGHTS), true);
}

// How the kernel multiplies zero points of the weights with sums of src.
kernels::zp_term zp_term_of(const facts &f) {
    if (f.problem().integer() && f.problem().has_float_zero_points())
        return kernels::ZP_TERM_F32;
    if (!zero_points_fit_f32(f))
        return kernels::ZP_TERM_S32;
    if (f.family.zero_points_as_f32 || (f.family.is_xe() && sums_are_bits(f)))
        return may_end_with_term(f) ? kernels::ZP_TERM_LAST : kernels::ZP_TERM_F32;
    // The sum of 128 bytes is below 2^15 in magnitude: it fits into 16 bits.
    return f.segment <= 128 ? kernels::ZP_TERM_S16 : kernels::ZP_TERM_S32;
}

// The value for the specialisation constants: the type, or 0 if there is no parameter or it is a
// host scalar.
uint32_t parameter_type(const quant_entry *entry) {
    return entry && !entry->is_on_host ? uint32_t(entry->data_type) : 0;
}

std::vector<ze::spec_constant> xe_constants(const facts &f, uint32_t flags, kernels::stage stage) {
    const problem &p = f.problem();
    return {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
            {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
            {SPEC_DST_DT, uint32_t(p.dst.data_type)},
            {SPEC_FLAGS, flags},
            {SPEC_STAGE, stage},
            {SPEC_ZP_TERM, zp_term_of(f)},
            {SPEC_WEI_UNIT, f.laid_out->wei_unit},
            {SPEC_SRC_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_SRC))},
            {SPEC_WEI_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_WEIGHTS))},
            {SPEC_SRC_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_SRC))},
            {SPEC_WEI_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_WEIGHTS))},
            {SPEC_PANEL_K, uint32_t(f.panel_k)},
            {SPEC_PANELS, uint32_t(f.panels)},
            {SPEC_SRC_LOAD, xe_src_load(f)}};
}

// ---- Constants of rows where a work-item owns a tile. Each different list is a module that takes
// most of a second to build on a CPU. So what these kernels read from the argument block, and what
// makes no difference for the problem, is left out.

constexpr uint32_t read_from_block =
    FLAG_SRC_SCALE | FLAG_WEI_SCALE | FLAG_BIAS | FLAG_DST_SCALE | FLAG_DST_ZP;

// Whether the policy can multiply float weights that lie along N from where they are in memory.
bool is_read_in_rows(const facts &f) {
    const problem &p = f.problem();
    const zemm_data_type_t wei = p.wei.data_type;
    return f.row->multiplies == operands::f32 && f.row->lanes > 1 && !p.integer() &&
           p.n() % f.row->tile_n == 0 && f.laid_out->wei_unit == UNIT_COLUMN &&
           (wei == zemm_f32 || wei == zemm_f16 || wei == zemm_bf16);
}

// Whether the policy multiplies packed weights in another way if it uses them only once.
bool reads_one_group_otherwise(const facts &f) {
    const problem &p = f.problem();
    if (multiplies_quads(f))
        return is_int4(p.wei.data_type) || changes_signedness(f);
    if (f.row->family == isa_family::avx512_bf16)
        return is_small_float(p.wei.data_type);
    return f.row->multiplies == operands::f32 && !p.integer() &&
           (p.wei.data_type != zemm_f32 || is_read_in_rows(f));
}

// Whether the policy multiplies src as it is in memory.
bool multiplies_src_in_place(const facts &f) {
    return f.problem().src.data_type == zemm_f32 && f.src_unit == UNIT_COLUMN;
}

// Types of scales and zero points that change along K.
struct types_along_k {
    uint32_t src_scale = TYPE_IN_BLOCK, wei_scale = TYPE_IN_BLOCK, wei_zp = TYPE_IN_BLOCK;
};

types_along_k types_of(const facts &f, uint32_t flags) {
    const problem &p = f.problem();
    const auto type_if = [&](uint32_t flag, const quant_entry *entry) {
        return flags & flag ? parameter_type(entry) : uint32_t(TYPE_IN_BLOCK);
    };
    return {type_if(FLAG_SRC_SCALE_K, p.scale(ZEMM_ARG_SRC)),
            type_if(FLAG_WEI_SCALE_K, p.scale(ZEMM_ARG_WEIGHTS)),
            type_if(FLAG_WEI_ZP_K, p.zero_point(ZEMM_ARG_WEIGHTS))};
}

// Whether what changes along K is what quantised models have: groups of one size, scales of one type,
// zero points of floats, of bytes or of the type of the weights, and no zero points of a src with
// groups. Kernels for these know all types. For the many other combinations they look at the types.
bool is_usual(const facts &f, uint32_t flags, const types_along_k &types) {
    if ((flags & (scaled_along_k | FLAG_WEI_ZP_K)) == 0)
        return true;
    const bool one_scale_type =
        (flags & scaled_along_k) != scaled_along_k || types.src_scale == types.wei_scale;
    const bool small_zero_points =
        !(flags & FLAG_WEI_ZP_K) || types.wei_zp == uint32_t(f.problem().wei.data_type) ||
        is_int8(zemm_data_type_t(types.wei_zp)) || is_floating(zemm_data_type_t(types.wei_zp));
    constexpr uint32_t grouped_src = FLAG_SRC_ZP | FLAG_SRC_SCALE_K;
    return flags & FLAG_EQUAL_GROUPS && one_scale_type && small_zero_points &&
           (flags & grouped_src) != grouped_src;
}

std::vector<ze::spec_constant> constants_of(const facts &f, const ze::device &dev, uint32_t flags) {
    const problem &p = f.problem();
    flags &= ~(read_from_block | FLAG_WIDE_SUMS);
    types_along_k types = types_of(f, flags);
    if (!is_usual(f, flags, types)) {
        types = {};
        flags &= ~(FLAG_EQUAL_GROUPS | FLAG_WHOLE_SEGMENTS | FLAG_ONE_GROUP); // these only save time
        flags |= flags & FLAG_WEI_ZP ? FLAG_WEI_ZP_K : 0;
    }
    if (!(flags & (scaled_along_k | FLAG_SRC_ZP | FLAG_REDUCTIONS)))
        flags &= ~FLAG_WHOLE_SEGMENTS;
    if (!reads_one_group_otherwise(f))
        flags &= ~FLAG_ONE_GROUP;
    std::vector<ze::spec_constant> result = {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
                                             {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
                                             {SPEC_FLAGS, flags},
                                             {SPEC_STAGE, kernels::STAGE_WHOLE},
                                             {SPEC_WEI_UNIT, f.laid_out->wei_unit},
                                             {SPEC_SRC_SCALE_DT, types.src_scale},
                                             {SPEC_WEI_SCALE_DT, types.wei_scale},
                                             {SPEC_WEI_ZP_DT, types.wei_zp}};
    // Drivers refuse specialisation constants that a module does not have.
    if (f.row->multiplies == operands::f32)
        result.push_back({SPEC_SRC_UNIT, uint32_t(multiplies_src_in_place(f) ? UNIT_COLUMN : UNIT_NONE)});
    const kernels::zp_term term = zp_term_of(f);
    if (f.family.zero_points_as_f32 || term == kernels::ZP_TERM_F32)
        result.push_back({SPEC_ZP_TERM, uint32_t(term)});
    // The feature avx512_bf16 implies AVX512_VBMI (src/cpu_driver/isa.cpp).
    if (f.row->family == isa_family::avx512_widen || f.row->family == isa_family::avx512)
        result.push_back({SPEC_LOOK_UP, uint32_t(dev.has(ze::feature::avx512_bf16))});
    if (f.family.has_tiles())
        result.push_back({SPEC_TILES, uint32_t(dev.has(f.row->tiles()) ? kernels::TILES_IN_HARDWARE
                                                                       : kernels::TILES_IN_SOFTWARE)});
    return result;
}

// The second launch of a problem whose K is split into ranges.
std::vector<ze::spec_constant> finish_constants_of(uint32_t flags) {
    flags &= FLAG_INTEGER | FLAG_EXACT_S32 | FLAG_WIDE_SUMS | FLAG_POST_OPS | scaled_along_k;
    return {{SPEC_FLAGS, flags},
            {SPEC_STAGE, kernels::STAGE_FINISH},
            {SPEC_SRC_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_ZP_DT, TYPE_IN_BLOCK}};
}

// A problem with fewer multiply-adds than this is not worth a second launch: it takes one core some
// microseconds. Fewer than 16 rows count as 16, for they take no less time.
constexpr zemm_dim_t worth_splitting = 1 << 22; // multiply-adds
constexpr zemm_dim_t shortest_range = 512;      // elements of K

// Whether K may be split for the number of a CPU's threads. Floats round otherwise with other ranges, and a
// deterministic matmul gives the same bits with any number of threads.
bool may_split(const facts &f) {
    const problem &p = f.problem();
    const bool is_exact = p.integer() && !f.scales_along_k;
    return p.grouped != grouping::k && (is_exact || !p.attr.deterministic);
}

// How many neighbouring tiles a work-item computes (FLAG_ABREAST): as many as leave enough
// work-items, for few rows of bytes and plain weights that lie along N. More rows hide the time in
// which their weights are read.
zemm_dim_t tiles_abreast(const facts &f, zemm_dim_t rows, zemm_dim_t tiles, zemm_dim_t enough) {
    if (f.row->multiplies != operands::int8 || f.family.has_tiles() || f.row->rows_at_once > 8 ||
        f.laid_out->wei_unit != UNIT_COLUMN || rows > most_rows_abreast)
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
    const grouping grouped = f.problem().grouped;
    const zemm_dim_t rows = grouped == grouping::rows ? f.problem().likely_rows : block.rows;
    if (chosen.slices != 0)
        fail(zemm_unimplemented, "%s does not cut ranges of K into slices", row.name);
    if (chosen.rows > row.tile_m)
        fail(zemm_unimplemented, "%s has tiles of at most %d rows, not %lld", row.name, row.tile_m,
             (long long)chosen.rows);
    result.group_size = {uint32_t(row.group_x), 1, 1};
    const zemm_dim_t enough = dev.kind == zemm_cpu ? 4 * zemm_dim_t(dev.compute_units) : 8;
    const zemm_dim_t tiles_along_n = groups(block.n, zemm_dim_t(row.tile_n) * row.group_x, "N");
    block.abreast = int32_t(tiles_abreast(f, rows, tiles_along_n, enough));
    const zemm_dim_t along_n = groups(tiles_along_n, block.abreast, "N");
    const zemm_dim_t wanted = groups(enough, along_n * batch, "a device");
    const zemm_dim_t fewest = groups(rows, row.tile_m, "M");
    const auto tiles_of = [&](zemm_dim_t height) {
        return std::max(fewest, std::min(wanted, groups(rows, height, "M")));
    };
    zemm_dim_t tiles = tiles_of(up(16, row.rows_at_once)), ranges = 1;
    if (may_split(f) && std::max<zemm_dim_t>(rows, 16) * batch * block.n >= worth_splitting / block.k)
        ranges = std::min(groups(enough, tiles * along_n * batch, "K"), block.k / shortest_range);
    ranges = std::max(chosen.ranges != 0 ? chosen.ranges : ranges, groups(block.k, f.longest_range, "K"));
    block.k_range = k_range(f, ranges);
    ranges = groups(block.k, block.k_range, "K");
    if (chosen.ranges != 0 && chosen.ranges != ranges)
        fail(zemm_unimplemented, "K of %lld has %lld ranges for %s, not %lld", (long long)block.k,
             (long long)ranges, row.name, (long long)chosen.ranges);
    if (ranges == 1)
        tiles = tiles_of(row.rows_at_once);
    block.tile_rows = int32_t(chosen.rows != 0 ? chosen.rows : groups(rows, tiles, "M"));
    if (f.family.has_tiles()) // it multiplies whole groups of rows, so that only the last may be cut
        block.tile_rows = int32_t(up(block.tile_rows, row.rows_at_once));
    const bool by_rows = grouped == grouping::rows;
    const zemm_dim_t along_m = by_rows ? 1 : groups(rows, block.tile_rows, "M");
    block.strip = int32_t(strip_of(chosen, 1, along_m, row));
    result.group_count = {uint32_t(groups(along_m * along_n, 1, "M x N")), uint32_t(by_rows ? 1 : batch),
                          uint32_t(ranges)};
    if (ranges == 1)
        return;
    const zemm_dim_t finish_rows = groups(rows, std::min(rows, wanted), "M");
    block.finish_rows = int32_t(std::min<zemm_dim_t>(finish_rows, row.tile_m)); // a tile holds no more
    const zemm_dim_t finish_along_m = by_rows ? 1 : groups(rows, block.finish_rows, "M");
    result.finish_count = {uint32_t(groups(finish_along_m * tiles_along_n, 1, "M x N")),
                           result.group_count[1], 1};
    take_partials(result, tiles_along_n * row.tile_n * row.group_x, ranges);
}

} // namespace

// The sum of products, and zero point * sum of src, are below 2^24 in magnitude: they have at most 256
// products of bytes. Where weights change their signedness, zero points are up to 256 beside u8 src,
// 383 beside s8 src.
bool zero_points_fit_f32(const facts &f) {
    const problem &p = f.problem();
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    const bool is_small =
        zp ? !zp->is_on_host && (is_int8(zp->data_type) || is_int4(zp->data_type)) : changes_signedness(f);
    return p.integer() && is_small && !p.zero_point(ZEMM_ARG_SRC) && f.scales_along_k && f.segment <= 256;
}

zemm_dim_t strip_of(const cut_choice &chosen, zemm_dim_t best, zemm_dim_t along_m, const kernel_row &row) {
    if (chosen.strip > along_m)
        fail(zemm_unimplemented, "M has %lld work-groups for %s, a strip has no %lld", (long long)along_m,
             row.name, (long long)chosen.strip);
    return chosen.strip != 0 ? chosen.strip : std::clamp<zemm_dim_t>(best, 1, along_m);
}

zemm_dim_t k_range(const facts &f, zemm_dim_t ranges) {
    const zemm_dim_t k = f.problem().k();
    return std::min(k, up(groups(k, ranges, "K"), f.range_unit));
}

void take_partials(plan &p, zemm_dim_t columns, zemm_dim_t ranges) {
    matmul_problem &block = p.argument_block;
    block.partial_row = columns;
    block.partial_range = block.partial_row * block.rows * p.group_count[1];
    p.partials_at = take(p, size_t(block.partial_range * ranges) * sizeof(float));
}

plan make_plan(const candidate &c, const ze::device &dev) {
    plan result = {};
    const facts &f = c.runs();
    const kernel_row &row = *f.row;
    const problem &p = f.problem();
    result.row = &row;
    if (c.packed) {
        result.pack = c.facts.packing->move;
        result.packed_at = take(result, md_size(p.wei));
    }
    if (c.widening) {
        result.widen = c.widening->move;
        result.wide_at = take(result, md_size(p.src));
    }
    if (f.arranged) {
        result.arrange = plan_arranging(f.of_caller(), row, p.src);
        result.arranged_at = take(result, arranged_bytes(p.src));
    }
    result.argument_block = make_argument_block(f);
    matmul_problem &block = result.argument_block;
    if (f.empty)
        return result; // nothing is launched

    const bool is_xe = row.is_xe();
    uint32_t flags = flags_of(f);
    const zemm_dim_t batch = p.grouped == grouping::rows
                                 ? p.likely_groups
                                 : groups(p.batch() * block.m / block.rows, 1, "the batch");
    if (is_xe) {
        flags |= xe_flags(f);
        xe_pitches(f, block);
        if (f.src != reading::elements && !f.arranged)
            result.src_alignment = block_load_alignment;
        if (c.facts.wei != reading::elements) // the caller's
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
    if (block.segment <= block_k)
        flags |= FLAG_WHOLE_SEGMENTS;
    if (multiplies_quads(f) && p.k() % 4 != 0)
        flags |= FLAG_QUAD_TAIL;
    if (!is_xe && (f.wei == reading::packed || is_read_in_rows(f)) && block.tile_rows <= row.rows_at_once)
        flags |= FLAG_ONE_GROUP;
    if (f.is_without_panel)
        flags |= FLAG_ALONG_K;
    if (block.abreast > 1)
        flags |= FLAG_ABREAST;
    if (result.local_bytes != 0)
        flags |= FLAG_SLICES;
    const bool is_split = block.k_range < block.k;
    if (is_xe) {
        result.constants = xe_constants(f, flags, is_split ? kernels::STAGE_PARTIAL : kernels::STAGE_WHOLE);
        if (is_split)
            result.finish_constants = xe_constants(f, flags, kernels::STAGE_FINISH);
    } else {
        result.constants = constants_of(f, dev, flags);
        if (is_split)
            result.finish_constants = finish_constants_of(flags);
    }

    if (flags & FLAG_REDUCTIONS) {
        const memory_desc md = reductions_md(p, block.segment);
        block.reductions = tensor(md);
        // The caller's sums may cover several segments: then they are of no use.
        result.computes_reductions = !p.reduction() || k_group(p, *p.reduction(), false) != block.segment;
        if (result.computes_reductions) {
            result.reduce_constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)}, {SPEC_SRC_UNIT, f.src_unit}};
            result.reductions_at = take(result, md_size(md));
            result.reduce_count = {uint32_t(groups(md.dims[p.ndims() - 1], REDUCE_SEGMENTS, "K")),
                                   uint32_t(groups(p.rows_of_dst(), 1, "M")), 1};
        }
    }
    return result;
}

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/constants.hpp"

#include "matmul/plan/plan_xe.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

namespace {

constexpr uint32_t scaled_along_k = FLAG_SRC_SCALE_K | FLAG_WEI_SCALE_K;

// The value for the specialisation constants: the type, or 0 if there is no parameter or it is a
// host scalar.
uint32_t parameter_type(const quant_entry *entry) {
    return entry && !entry->is_on_host ? uint32_t(entry->data_type) : 0;
}

// ---- Constants of rows where a work-item owns a tile. Each different list is a module that takes
// most of a second to build on a CPU. So what these kernels read from the argument block, and what
// makes no difference for the problem, is left out.

constexpr uint32_t read_from_block =
    FLAG_SRC_SCALE | FLAG_WEI_SCALE | FLAG_BIAS | FLAG_DST_SCALE | FLAG_DST_ZP;

// Types of scales and zero points that change along K.
struct types_along_k {
    uint32_t src_scale = TYPE_IN_BLOCK, wei_scale = TYPE_IN_BLOCK, wei_zp = TYPE_IN_BLOCK;
};

types_along_k types_of(const facts &f, uint32_t flags) {
    const problem &p = f.run();
    const auto type_if = [&](uint32_t flag, const quant_entry *entry) {
        return flags & flag ? parameter_type(entry) : uint32_t(TYPE_IN_BLOCK);
    };
    return {type_if(FLAG_SRC_SCALE_K, p.scale(ZEMM_ARG_SRC)),
            type_if(FLAG_WEI_SCALE_K, p.scale(ZEMM_ARG_WEIGHTS)),
            type_if(FLAG_WEI_ZP_K, p.zero_point(ZEMM_ARG_WEIGHTS))};
}

// Whether owner/work_item/few_rows.h computes so few rows of packed weights: their parameters change along K
// at each segment, which is a block. The policy for floats has products of 8-bit integers without zero
// points.
bool has_few_rows_loop(const facts &f, const arithmetic &a, uint32_t flags) {
    constexpr uint32_t needed = FLAG_EQUAL_GROUPS | FLAG_WHOLE_SEGMENTS;
    const problem &p = f.run();
    const zemm_data_type_t wei = p.wei.data_type;
    const bool has_bytes = is_int8(wei) && (p.integer() || !(flags & FLAG_WEI_ZP));
    return f.row->tile_n == PACKED_N && (flags & needed) == needed && (flags & scaled_along_k) != 0 &&
           !(flags & (FLAG_SRC_ZP | FLAG_QUAD_TAIL | FLAG_ABREAST)) && a.zp_term != kernels::ZP_TERM_LAST &&
           (has_bytes || data_type_bits(wei) == 4);
}

} // namespace

uint32_t common_flags(const facts &f, const arithmetic &a) {
    const problem &p = f.run();
    uint32_t flags = 0;
    const auto set = [&](bool condition, uint32_t flag) { flags |= condition ? flag : 0; };
    set(p.integer(), FLAG_INTEGER);
    set(p.zero_point(ZEMM_ARG_SRC), FLAG_SRC_ZP);
    set(p.zero_point(ZEMM_ARG_WEIGHTS), FLAG_WEI_ZP);
    set(f.along_k.wei_zp || p.has_offsets(), FLAG_WEI_ZP_K); // offsets are folded at each segment
    set(a.sums_src, FLAG_REDUCTIONS);
    set(p.has_float_zero_points(), FLAG_FLOAT_ZP);
    set(p.has_offsets(), FLAG_OFFSETS);
    set(p.scale(ZEMM_ARG_SRC), FLAG_SRC_SCALE);
    set(p.scale(ZEMM_ARG_WEIGHTS), FLAG_WEI_SCALE);
    set(a.src_scales_segments, FLAG_SRC_SCALE_K);
    set(a.wei_scales_segments, FLAG_WEI_SCALE | FLAG_WEI_SCALE_K);
    set(f.has_equal_groups, FLAG_EQUAL_GROUPS);
    set(p.has_bias(), FLAG_BIAS);
    set(!p.attr.post_ops.entries.empty(), FLAG_POST_OPS);
    set(p.scale(ZEMM_ARG_DST), FLAG_DST_SCALE);
    set(p.zero_point(ZEMM_ARG_DST), FLAG_DST_ZP);
    set(f.is_bare_s32, FLAG_EXACT_S32);
    set(f.longest_range < p.k(), FLAG_WIDE_SUMS);
    set(a.has_quad_tail, FLAG_QUAD_TAIL);
    set(f.is_without_panel, FLAG_ALONG_K);
    set(f.uses_reduced_range(), FLAG_REDUCED_RANGE);
    set(f.splits_src, FLAG_SPLIT);
    return flags;
}

std::vector<ze::spec_constant> xe_constants(const facts &f, const arithmetic &a, uint32_t flags,
                                            kernels::stage stage) {
    const problem &p = f.run();
    return {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
            {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
            {SPEC_DST_DT, uint32_t(p.dst.data_type)},
            {SPEC_FLAGS, flags},
            {SPEC_STAGE, stage},
            {SPEC_ZP_TERM, a.zp_term},
            {SPEC_WEI_UNIT, f.laid_out->wei_unit},
            {SPEC_SRC_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_SRC))},
            {SPEC_WEI_SCALE_DT, parameter_type(p.scale(ZEMM_ARG_WEIGHTS))},
            {SPEC_SRC_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_SRC))},
            {SPEC_WEI_ZP_DT, parameter_type(p.zero_point(ZEMM_ARG_WEIGHTS))},
            {SPEC_WEI_SCALE_FACTOR_DT, parameter_type(p.scale_factor())},
            {SPEC_WEI_ZP_FACTOR_DT, parameter_type(p.offset_factor())},
            {SPEC_PANEL_K, uint32_t(f.panel_k)},
            {SPEC_PANELS, uint32_t(f.panels)},
            {SPEC_SRC_LOAD, xe_src_load(f)}};
}

std::vector<ze::spec_constant> cpu_constants(const facts &f, const arithmetic &a, const ze::device &dev,
                                             uint32_t flags, bool quantizes_src) {
    const problem &p = f.run();
    flags &= ~(read_from_block | FLAG_WIDE_SUMS);
    types_along_k types = types_of(f, flags);
    if (!a.is_usual_along_k) {
        types = {};
        flags &= ~(FLAG_EQUAL_GROUPS | FLAG_WHOLE_SEGMENTS | FLAG_ONE_GROUP); // these only save time
        flags |= flags & FLAG_WEI_ZP ? FLAG_WEI_ZP_K : 0;
    }
    if (!(flags & (scaled_along_k | FLAG_SRC_ZP | FLAG_REDUCTIONS)))
        flags &= ~FLAG_WHOLE_SEGMENTS;
    if (flags & FLAG_FEW_ROWS)
        flags &= has_few_rows_loop(f, a, flags) ? ~FLAG_ONE_GROUP : ~FLAG_FEW_ROWS;
    if (!a.differs_for_one_group)
        flags &= ~FLAG_ONE_GROUP;
    std::vector<ze::spec_constant> result = {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
                                             {SPEC_WEI_DT, uint32_t(p.wei.data_type)},
                                             {SPEC_FLAGS, flags},
                                             {SPEC_STAGE, kernels::STAGE_WHOLE},
                                             {SPEC_WEI_UNIT, f.laid_out->wei_unit},
                                             {SPEC_SRC_SCALE_DT, types.src_scale},
                                             {SPEC_WEI_SCALE_DT, types.wei_scale},
                                             {SPEC_WEI_ZP_DT, types.wei_zp},
                                             {SPEC_WEI_SCALE_FACTOR_DT, parameter_type(p.scale_factor())},
                                             {SPEC_WEI_ZP_FACTOR_DT, parameter_type(p.offset_factor())}};
    // Drivers refuse specialisation constants that a module does not have.
    if (f.row->multiplies == operands::f32)
        result.push_back({SPEC_SRC_UNIT, uint32_t(a.src_in_place ? UNIT_COLUMN : UNIT_NONE)});
    if (f.family.zero_points_as_f32 || a.zp_term == kernels::ZP_TERM_F32)
        result.push_back({SPEC_ZP_TERM, uint32_t(a.zp_term)});
    // The feature avx512_bf16 implies AVX512_VBMI (src/cpu_driver/device/isa.cpp).
    if (f.family.looks_up)
        result.push_back({SPEC_LOOK_UP, uint32_t(dev.has(ze::feature::avx512_bf16))});
    if (f.family.has_tiles())
        result.push_back({SPEC_TILES, uint32_t(dev.has(f.row->tiles()) ? kernels::TILES_IN_HARDWARE
                                                                       : kernels::TILES_IN_SOFTWARE)});
    if (f.family.has_tiles() && f.row->multiplies == operands::int8)
        result.push_back({SPEC_TILE_BYTES, uint32_t(a.tile_bytes)});
    if (quantizes_src) {
        const zemm_dim_t group = k_group(p, *p.scale(ZEMM_ARG_SRC), false);
        result.push_back({SPEC_QUANTIZED_DT, uint32_t(p.quantized_from)});
        result.push_back({SPEC_QUANTIZED_VECTORS, reorder::vectors_of_group(group, f.segment)});
    }
    return result;
}

std::vector<ze::spec_constant> cpu_add_ranges_constants(uint32_t flags) {
    flags &= FLAG_INTEGER | FLAG_EXACT_S32 | FLAG_WIDE_SUMS | FLAG_POST_OPS | scaled_along_k;
    return {{SPEC_FLAGS, flags},
            {SPEC_STAGE, kernels::STAGE_ADD_RANGES},
            {SPEC_SRC_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_ZP_DT, TYPE_IN_BLOCK}};
}

} // namespace zemm::matmul

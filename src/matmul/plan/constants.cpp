// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/constants.hpp"

#include "common/quant_md.hpp"
#include "matmul/plan/plan_xe.hpp"
#include "matmul/problem/sums.hpp"

namespace zemm::matmul {

namespace {

// Whether the policy has to flip the sign bit of the weights, because src and weights are both signed
// or both unsigned: x86 instructions for bytes take one unsigned and one signed operand.
bool changes_signedness(const facts &f) {
    const problem &p = f.run();
    const bool signed_src = is_signed(p.src.data_type), signed_wei = is_signed(p.wei.data_type);
    if (!multiplies_quads(f))
        return false;
    // u4 fits an unsigned and a signed byte. s4 has to change only beside a signed src.
    return is_int4(p.wei.data_type) ? signed_wei && signed_src
                                    : signed_wei == signed_src && !f.family.widens_bytes;
}

// Whether every scale and zero point that changes along K has groups of exactly one segment.
bool groups_are_equal(const facts &f) {
    const problem &p = f.run();
    const auto fits = [&](const quant_entry *entry, bool k_is_row) {
        return !changes_along_k(p, entry, k_is_row) || k_group(p, *entry, k_is_row) == f.segment;
    };
    return fits(p.scale(ZEMM_ARG_SRC), false) && fits(p.zero_point(ZEMM_ARG_SRC), false) &&
           fits(p.scale(ZEMM_ARG_WEIGHTS), true) && fits(p.zero_point(ZEMM_ARG_WEIGHTS), true);
}

constexpr uint32_t scaled_along_k = FLAG_SRC_SCALE_K | FLAG_WEI_SCALE_K;

// Whether all groups of K leave their zero-point terms to the end, where zero points and scales of the
// weights are the same along K. Until then sums are larger by the zero points' distance from their
// mean, and round more coarsely, but less so than f16 and bf16. Not with tiles abreast, which have a
// mean each.
bool may_end_with_term(const facts &f) {
    const problem &p = f.run();
    return !f.family.is_xe() && !f.may_be_abreast &&
           (p.dst.data_type == zemm_f16 || p.dst.data_type == zemm_bf16) &&
           !changes_along_k(p, p.zero_point(ZEMM_ARG_WEIGHTS), true) &&
           !changes_along_k(p, p.scale(ZEMM_ARG_WEIGHTS), true);
}

// How the kernel multiplies zero points of the weights with sums of src.
kernels::zp_term zp_term_of(const facts &f) {
    if (f.run().integer() && f.run().has_float_zero_points())
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

// ---- Constants of rows where a work-item owns a tile. Each different list is a module that takes
// most of a second to build on a CPU. So what these kernels read from the argument block, and what
// makes no difference for the problem, is left out.

constexpr uint32_t read_from_block =
    FLAG_SRC_SCALE | FLAG_WEI_SCALE | FLAG_BIAS | FLAG_DST_SCALE | FLAG_DST_ZP;

// Whether the policy multiplies packed weights in another way if it uses them only once.
bool reads_one_group_otherwise(const facts &f) {
    const problem &p = f.run();
    if (multiplies_quads(f))
        return is_int4(p.wei.data_type) || changes_signedness(f);
    if (f.row->family == isa_family::avx512_bf16)
        return is_small_float(p.wei.data_type);
    return f.row->multiplies == operands::f32 && !p.integer() &&
           (p.wei.data_type != zemm_f32 || is_read_in_rows(f));
}

// Whether the policy multiplies src as it is in memory.
bool multiplies_src_in_place(const facts &f) {
    return f.run().src.data_type == zemm_f32 && f.src_unit == UNIT_COLUMN;
}

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

// Whether what changes along K is what quantised models have: groups of one size, scales of one type,
// zero points of floats, of bytes or of the type of the weights, and no zero points of a src with
// groups. Kernels for these know all types. For the many other combinations they look at the types.
bool is_usual(const facts &f, uint32_t flags, const types_along_k &types) {
    if ((flags & (scaled_along_k | FLAG_WEI_ZP_K)) == 0)
        return true;
    const bool one_scale_type =
        (flags & scaled_along_k) != scaled_along_k || types.src_scale == types.wei_scale;
    const bool small_zero_points =
        !(flags & FLAG_WEI_ZP_K) || types.wei_zp == uint32_t(f.run().wei.data_type) ||
        is_int8(zemm_data_type_t(types.wei_zp)) || is_floating(zemm_data_type_t(types.wei_zp));
    constexpr uint32_t grouped_src = FLAG_SRC_ZP | FLAG_SRC_SCALE_K;
    return flags & FLAG_EQUAL_GROUPS && one_scale_type && small_zero_points &&
           (flags & grouped_src) != grouped_src;
}

} // namespace

bool multiplies_quads(const facts &f) {
    return f.row->multiplies == operands::int8 && f.family.multiplies_by == multiplier::vectors;
}

// The sum of products, and zero point * sum of src, are below 2^24 in magnitude: they have at most 256
// products of bytes. Where weights change their signedness, zero points are up to 256 beside u8 src,
// 383 beside s8 src.
bool zero_points_fit_f32(const facts &f) {
    const problem &p = f.run();
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    const bool is_small =
        zp ? !zp->is_on_host && (is_int8(zp->data_type) || is_int4(zp->data_type)) : changes_signedness(f);
    return p.integer() && is_small && !p.zero_point(ZEMM_ARG_SRC) && f.scales_along_k && f.segment <= 256;
}

bool is_read_in_rows(const facts &f) {
    const problem &p = f.run();
    const zemm_data_type_t wei = p.wei.data_type;
    return f.row->multiplies == operands::f32 && f.row->lanes > 1 && !p.integer() &&
           p.n() % f.row->tile_n == 0 && f.laid_out->wei_unit == UNIT_COLUMN &&
           (wei == zemm_f32 || wei == zemm_f16 || wei == zemm_bf16);
}

uint32_t common_flags(const facts &f) {
    const problem &p = f.run();
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

std::vector<ze::spec_constant> xe_constants(const facts &f, uint32_t flags, kernels::stage stage) {
    const problem &p = f.run();
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

std::vector<ze::spec_constant> cpu_constants(const facts &f, const ze::device &dev, uint32_t flags) {
    const problem &p = f.run();
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

std::vector<ze::spec_constant> cpu_finish_constants(uint32_t flags) {
    flags &= FLAG_INTEGER | FLAG_EXACT_S32 | FLAG_WIDE_SUMS | FLAG_POST_OPS | scaled_along_k;
    return {{SPEC_FLAGS, flags},
            {SPEC_STAGE, kernels::STAGE_FINISH},
            {SPEC_SRC_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_SCALE_DT, TYPE_IN_BLOCK},
            {SPEC_WEI_ZP_DT, TYPE_IN_BLOCK}};
}

} // namespace zemm::matmul

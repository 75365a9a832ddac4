// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/arithmetic.hpp"

#include <algorithm>
#include <cstdint>

namespace zemm::matmul {

bool flips_weights(const facts &f) {
    const problem &p = f.run();
    const bool signed_src = is_signed(p.src.data_type), signed_wei = is_signed(p.wei.data_type);
    if (!f.multiplies_quads())
        return false;
    // u4 and u2 fit an unsigned and a signed byte. s4 has to change only beside a signed src.
    return is_small_int(p.wei.data_type)
               ? signed_wei && signed_src
               : signed_wei == signed_src && (!f.family.widens_bytes || f.uses_reduced_range());
}

namespace {

// Whether f32 holds a segment's zero-point term exactly. The sum of products, and zero point * sum of src,
// are below 2^24 in magnitude: they have at most 256 products of bytes. Where weights change their
// signedness, zero points are up to 256 beside u8 src, 383 beside s8 src.
bool zero_points_fit_f32(const facts &f, bool flips_weights) {
    const problem &p = f.run();
    const quant_entry *zp = p.zero_point(ZEMM_ARG_WEIGHTS);
    const bool is_small =
        zp ? !zp->is_on_host && is_narrow_int(zp->data_type) && !p.has_offsets() : flips_weights;
    return p.integer() && is_small && !p.zero_point(ZEMM_ARG_SRC) && f.scales_along_k && f.segment <= 256;
}

// Segments that are groups half as long as the rows of usual tiles have tiles of their own.
zemm_dim_t tile_bytes(const facts &f, bool is_usual_along_k) {
    constexpr zemm_dim_t half = 32;
    const bool are_half = f.family.has_tiles() && f.row->multiplies == operands::int8 && f.scales_along_k &&
                          f.segment == half && f.last_segment == half && f.run().grouped != grouping::k;
    return are_half && is_usual_along_k ? half : 2 * half;
}

// The sums of a segment must be below 2^22. Both scales must change along K. Scales of the weights
// must be f16: then 1.5 * 2^23 times the scale is exact in f32. Without zero points, Xe-HPG would copy
// 1.5 * 2^23 into each sum, which takes as long as the conversion.
bool sums_are_bits(const facts &f, bool zero_points_fit) {
    const problem &p = f.run();
    const bool copies = f.family.multiplies_by == multiplier::dpas && f.family.has_small_registers();
    return f.family.is_xe() && p.integer() && f.along_k.src_scale && f.along_k.wei_scale &&
           p.scale(ZEMM_ARG_WEIGHTS)->data_type == zemm_f16 && !p.zero_point(ZEMM_ARG_SRC) &&
           (p.zero_point(ZEMM_ARG_WEIGHTS) ? zero_points_fit : !copies) &&
           f.segment <= longest_sum(p, (1 << 22) - 1);
}

// Whether all groups of K leave their zero-point terms to the end, where zero points and scales of the
// weights are the same along K. Until then sums are larger by the zero points' distance from their
// mean, and round more coarsely, but less so than f16 and bf16. Not with tiles abreast, which have a
// mean each.
bool may_end_with_term(const facts &f) {
    const zemm_data_type_t dst = f.run().dst.data_type;
    return !f.family.is_xe() && !f.may_be_abreast && (dst == zemm_f16 || dst == zemm_bf16) &&
           !f.along_k.wei_zp && !f.along_k.wei_scale;
}

kernels::zp_term zp_term_of(const facts &f, bool zero_points_fit, bool sums_are_bits) {
    if (f.subtracts_floats)
        return kernels::ZP_TERM_F32;
    if (!zero_points_fit)
        return kernels::ZP_TERM_S32;
    if (f.family.zero_points_as_f32 || sums_are_bits)
        return may_end_with_term(f) ? kernels::ZP_TERM_LAST : kernels::ZP_TERM_F32;
    // The sum of 128 bytes is below 2^15 in magnitude: it fits into 16 bits.
    return f.segment <= 128 ? kernels::ZP_TERM_S16 : kernels::ZP_TERM_S32;
}

bool reads_rows(const facts &f, const arithmetic &a) {
    const problem &p = f.run();
    const zemm_data_type_t wei = p.wei.data_type;
    // Several segments in a row are multiplied from a panel.
    if (f.laid_out->wei_unit != UNIT_COLUMN || p.n() % f.row->tile_n != 0 || f.family.keeps_segments)
        return false;
    if (f.multiplies_quads())
        return f.row->lanes == 16 && f.row->tile_n == 64 && !a.has_quad_tail;
    return f.row->multiplies == operands::f32 && f.row->lanes > 1 && !p.integer() &&
           (wei == zemm_f32 || wei == zemm_f16 || wei == zemm_bf16);
}

bool differs_for_one_group(const facts &f, const arithmetic &a) {
    const problem &p = f.run();
    if (f.multiplies_quads())
        return is_small_int(p.wei.data_type) || a.flips_weights || a.reads_rows || f.family.widens_bytes;
    if (f.row->family == isa_family::avx512_bf16)
        return is_small_float(p.wei.data_type);
    return f.row->multiplies == operands::f32 && !p.integer() &&
           (p.wei.data_type != zemm_f32 || a.reads_rows);
}

bool is_usual_along_k(const facts &f, const arithmetic &a) {
    const problem &p = f.run();
    if (!a.src_scales_segments && !a.wei_scales_segments && !f.along_k.wei_zp)
        return true;
    const quant_entry *src_scale = p.scale(ZEMM_ARG_SRC), *wei_scale = p.scale(ZEMM_ARG_WEIGHTS);
    // Layers quantise src with f32 scales, also beside weights with f16 or bf16 scales.
    const bool usual_scale_types = !a.src_scales_segments || !a.wei_scales_segments || !wei_scale ||
                                   src_scale->data_type == zemm_f32 ||
                                   src_scale->data_type == wei_scale->data_type;
    const auto is_small = [&](zemm_data_type_t dt) {
        return dt == p.wei.data_type || is_int8(dt) || is_floating(dt);
    };
    return f.has_equal_groups && usual_scale_types &&
           (!f.along_k.wei_zp || is_small(p.zero_point(ZEMM_ARG_WEIGHTS)->data_type)) &&
           !(p.zero_point(ZEMM_ARG_SRC) && a.src_scales_segments);
}

} // namespace

arithmetic arithmetic_of(const facts &f) {
    const problem &p = f.run();
    arithmetic a = {};
    a.flips_weights = flips_weights(f);
    a.sums_src = p.integer() && (p.zero_point(ZEMM_ARG_WEIGHTS) || a.flips_weights);
    a.src_scales_segments = f.along_k.src_scale;
    // If no scale changes along K, those of the weights scale each segment: by 1 if there are none.
    // Offsets are not scaled by them: so sums are, before offsets are added.
    a.wei_scales_segments =
        f.along_k.wei_scale || p.has_offsets() || (f.scales_along_k && !f.along_k.src_scale);
    const bool zero_points_fit = zero_points_fit_f32(f, a.flips_weights);
    a.sums_are_bits = sums_are_bits(f, zero_points_fit);
    a.zp_term = zp_term_of(f, zero_points_fit, a.sums_are_bits);
    // A part of K ends where another one begins, or where K ends.
    a.has_quad_tail = f.multiplies_quads() && (!f.has_quads() || p.k() % 4 != 0);
    a.reads_rows = reads_rows(f, a);
    a.src_in_place = p.src.data_type == zemm_f32 && f.src_unit == UNIT_COLUMN;
    a.differs_for_one_group = differs_for_one_group(f, a);
    a.is_usual_along_k = is_usual_along_k(f, a);
    a.tile_bytes = tile_bytes(f, a.is_usual_along_k);
    return a;
}

namespace {

// The largest |value - zero point|. Zero points of type s32 are assumed to be in the range of the
// tensor's type. Float zero points are subtracted later; weights may be flipped to the other
// signedness until then.
zemm_dim_t largest_magnitude(const memory_desc &md, const quant_entry *zero_point, bool are_floats) {
    const value_range value = range_of(md.data_type);
    if (!zero_point)
        return std::max(-value.low, value.high);
    if (are_floats)
        return value.high - value.low;
    const value_range zp = zero_point->data_type == zemm_s32 ? value : range_of(zero_point->data_type);
    return std::max(value.high - zp.low, zp.high - value.low);
}

} // namespace

bool is_bare_s32(const problem &p) {
    return p.integer() && p.dst.data_type == zemm_s32 && !p.has_bias() && p.attr.post_ops.entries.empty() &&
           !p.scale(ZEMM_ARG_SRC) && !p.scale(ZEMM_ARG_WEIGHTS) && !p.scale(ZEMM_ARG_DST) &&
           !p.zero_point(ZEMM_ARG_DST) && !p.has_float_zero_points();
}

zemm_dim_t longest_sum(const problem &p, zemm_dim_t most) {
    return most / (largest_magnitude(p.src, p.zero_point(ZEMM_ARG_SRC), false) *
                   largest_magnitude(p.wei, p.zero_point(ZEMM_ARG_WEIGHTS), p.has_float_zero_points()));
}

zemm_dim_t longest_s32_sum(const problem &p) {
    return longest_sum(p, INT32_MAX);
}

zemm_dim_t fitting_part(zemm_dim_t segment, zemm_dim_t longest) {
    // The most elements of K that a policy multiplies at once, halved until it divides the segment.
    zemm_dim_t unit = 64;
    while (segment % unit != 0)
        unit /= 2;
    const zemm_dim_t units = segment / unit, most = longest / unit;
    zemm_dim_t parts = 1;
    for (; parts * parts <= units; ++parts)
        if (units % parts == 0 && units / parts <= most)
            return units / parts * unit;
    zemm_dim_t length = parts; // in units; now the divisors up to the square root
    while (units % length != 0 || length > most)
        --length;
    return length * unit;
}

zemm_dim_t longest_range(const problem &p, zemm_dim_t segment) {
    constexpr zemm_dim_t block = 256; // a multiple of every row's tile_k
    if (!p.integer() || is_bare_s32(p))
        return p.k();
    const zemm_dim_t longest = longest_s32_sum(p);
    if (p.k() <= longest)
        return p.k();
    const zemm_dim_t unit = segment < p.k() ? segment : block;
    return longest / unit * unit;
}

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/sums.hpp"

#include <algorithm>
#include <cstdint>

namespace zemm::matmul {

namespace {

// The largest |value - zero point|. Zero points of type s32 are assumed to be in the range of the
// tensor's type. Float zero points are subtracted later; weights may be flipped to the other
// signedness until then.
zemm_dim_t largest_magnitude(const memory_desc &md, const quant_entry *zero_point) {
    const value_range value = range_of(md.data_type);
    if (!zero_point)
        return std::max(-value.low, value.high);
    if (is_floating(zero_point->data_type))
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
    return most / (largest_magnitude(p.src, p.zero_point(ZEMM_ARG_SRC)) *
                   largest_magnitude(p.wei, p.zero_point(ZEMM_ARG_WEIGHTS)));
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

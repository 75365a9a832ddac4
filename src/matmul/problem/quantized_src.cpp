// SPDX-License-Identifier: Apache-2.0
#include "matmul/problem/quantized_src.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/names.hpp"

namespace zemm::matmul {

namespace {

// The elements of K that share a sum: a sum serves each segment, in which no scale or zero point changes.
zemm_dim_t sums_group(const problem &p, zemm_dim_t src_group) {
    const auto of_weights = [&](const quant_entry *entry) { return entry ? k_group(p, *entry, true) : 0; };
    return shared_k_group(
        p, {src_group, of_weights(p.scale(ZEMM_ARG_WEIGHTS)), of_weights(p.zero_point(ZEMM_ARG_WEIGHTS))});
}

} // namespace

quantized_src quantized_src_of(const problem &p) {
    const int ndims = p.src.ndims;
    const zemm_dim_t k = p.k();
    const bool is_known = k != ZEMM_RUNTIME_DIM_VAL;
    const zemm_dim_t group =
        is_known ? std::clamp<zemm_dim_t>(p.attr.src_dyn_quant_params, 1, std::max<zemm_dim_t>(k, 1))
                 : p.attr.src_dyn_quant_params;
    const auto entry = [&](zemm_dim_t size, zemm_data_type_t dt) {
        return quant_entry{.mask = full_mask(ndims), .group_ndims = 2, .groups = {1, size}, .data_type = dt};
    };
    quantized_src made = {
        .values = md_dense(ndims, p.src.dims, zemm_s8), .scales = entry(group, zemm_f32), .sums = {}};
    constexpr zemm_dim_t largest = 127;
    if (const zemm_dim_t of_sum = is_known && k > 0 ? sums_group(p, group) : 0;
        of_sum != 0 && of_sum <= INT32_MAX / largest)
        made.sums = entry(of_sum, zemm_s32);
    return made;
}

problem with_quantized_src(problem p) {
    const quantized_src made = quantized_src_of(p);
    p.src = made.values;
    p.attr.scales[ZEMM_ARG_SRC] = made.scales;
    p.attr.src_dyn_quant_params = 0;
    if (made.sums)
        p.attr.precomputed_reductions[ZEMM_ARG_SRC] = *made.sums;
    return p;
}

void check_quantized_src(const problem &p) {
    const auto exclude = [&](const quant_map &entries, const char *what) {
        if (entries.contains(ZEMM_ARG_SRC))
            fail(zemm_invalid_arguments, "src is quantised by the matmul: it has no %s of the caller", what);
    };
    exclude(p.attr.scales, "scales");
    exclude(p.attr.zero_points, "zero points");
    exclude(p.attr.precomputed_reductions, "precomputed reductions");
    const auto is_quantised = [](zemm_data_type_t dt) {
        return dt == zemm_f32 || dt == zemm_f16 || dt == zemm_bf16;
    };
    if (!is_quantised(p.src.data_type))
        fail(zemm_unimplemented, "a matmul quantises a src of %s, not %s", types_where(is_quantised).c_str(),
             data_type_name(p.src.data_type));
    if (!is_narrow_int(p.wei.data_type))
        fail(zemm_unimplemented, "a matmul quantises src for weights of %s, not %s",
             types_where(is_narrow_int).c_str(), data_type_name(p.wei.data_type));
    if (md_is_sparse(p.src))
        fail(zemm_unimplemented, "a matmul quantises a dense src, not one of the %s encoding",
             sparse_encoding_name(p.src.encoding));
}

} // namespace zemm::matmul

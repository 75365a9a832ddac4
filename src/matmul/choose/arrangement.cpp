// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/arrangement.hpp"

#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

constexpr zemm_dim_t pitch_unit = 64; // elements of K: the longest panel, and 128 bytes

// Whether weights are multiplied in another order along K.
bool has_order(const problem &p, const kernel_row &row) {
    return row.multiplies == operands::half && is_small_float(p.wei.data_type);
}

bool is_arranged(const problem &p, const kernel_row &row) {
    const bool has_operands = row.multiplies == operands::half || row.multiplies == operands::f32;
    if (!row.is_xe() || !has_operands || p.empty() || p.integer() || p.src.data_type == zemm_f32)
        return false;
    return is_small_float(p.src.data_type) || has_order(p, row);
}

// Whether src times its scales is exact as f16: two digits times four, from 2^-10 to 2688 (NVFP4). Sums
// then have one scale less.
bool are_exact_as_f16(const problem &p, const problem_facts &f) {
    return p.src.data_type == zemm_f4_e2m1 && f.along_k.src_scale &&
           p.scale(ZEMM_ARG_SRC)->data_type == zemm_f8_e4m3;
}

memory_desc arranged_src(const problem &p) {
    const int column = p.ndims() - 1;
    zemm_dims_t strides;
    strides[column] = 1;
    strides[column - 1] = checked_ceil_div(p.k(), pitch_unit, "K") * pitch_unit;
    for (int d = column - 2; d >= 0; --d)
        strides[d] = strides[d + 1] * p.src.dims[d + 1];
    const zemm_data_type_t type = p.src.data_type == zemm_bf16 ? zemm_bf16 : zemm_f16;
    return md_with_strides(p.ndims(), p.src.dims, type, strides);
}

} // namespace

std::shared_ptr<const arrangement> arrange_src(const problem &p, const problem_facts &of_problem,
                                               const kernel_row &row) {
    if (!is_arranged(p, row))
        return nullptr;
    auto made = std::make_shared<arrangement>();
    made->applies_scales = are_exact_as_f16(p, of_problem);
    made->unit = !has_order(p, row) ? 1 : data_type_bits(p.wei.data_type) == 8 ? 4 : 8;
    made->problem = p;
    made->problem.src = arranged_src(p);
    if (made->applies_scales)
        made->problem.attr.scales.erase(ZEMM_ARG_SRC);
    memory_desc &seen = made->seen_src = made->problem.src;
    const int column = seen.ndims - 1;
    seen.dims[column] = seen.padded_dims[column] = seen.strides[column - 1];
    return made;
}

} // namespace zemm::matmul

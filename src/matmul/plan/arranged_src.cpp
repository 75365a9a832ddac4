// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/arranged_src.hpp"

#include "kernels/arrange_args.h"
#include "matmul/plan/argument_block.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

static_assert(sizeof(kernels::arrange_problem) ==
              8 * (3 + MATMUL_MAX_BATCH_NDIMS) + 2 * sizeof(kernels::tensor_arg) + 8);

constexpr zemm_dim_t pitch_unit = 64; // elements of K: the longest panel, and 128 bytes
constexpr zemm_dim_t at_once = 8;     // elements of K that a work-item of arrange_src arranges

// Whether weights are multiplied in another order along K.
bool has_order(const problem &p, const kernel_row &row) {
    return row.multiplies == operands::half && is_small_float(p.wei.data_type);
}

// Whether src times its scales is exact as f16: two digits times four, from 2^-10 to 2688 (NVFP4). Sums
// then have one scale less.
bool applies_scales(const problem &p) {
    const quant_entry *scale = p.scale(ZEMM_ARG_SRC);
    return p.src.data_type == zemm_f4_e2m1 && changes_along_k(p, scale, false) &&
           scale->data_type == zemm_f8_e4m3;
}

} // namespace

bool arranges_src(const problem &p, const kernel_row &row) {
    const bool has_operands = row.multiplies == operands::half || row.multiplies == operands::f32;
    if (!row.is_xe() || !has_operands || p.empty() || p.integer() || p.src.data_type == zemm_f32)
        return false;
    return is_small_float(p.src.data_type) || has_order(p, row);
}

problem arranged_problem(const problem &p) {
    const int column = p.ndims() - 1;
    zemm_dims_t strides;
    strides[column] = 1;
    strides[column - 1] = checked_ceil_div(p.k(), pitch_unit, "K") * pitch_unit;
    for (int d = column - 2; d >= 0; --d)
        strides[d] = strides[d + 1] * p.src.dims[d + 1];
    const zemm_data_type_t type = p.src.data_type == zemm_bf16 ? zemm_bf16 : zemm_f16;
    problem result = p;
    result.src = md_with_strides(p.ndims(), p.src.dims, type, strides);
    if (applies_scales(p))
        result.attr.scales.erase(ZEMM_ARG_SRC);
    return result;
}

memory_desc with_padding(memory_desc arranged) {
    const int column = arranged.ndims - 1;
    arranged.dims[column] = arranged.padded_dims[column] = arranged.strides[column - 1];
    return arranged;
}

size_t arranged_bytes(const memory_desc &arranged) {
    return md_size(with_padding(arranged));
}

reorder::plan plan_arranging(const problem &p, const kernel_row &row, const memory_desc &arranged) {
    kernels::arrange_problem block = {};
    block.m = p.m();
    block.k = p.k();
    block.pitch = arranged.strides[p.ndims() - 2];
    block.src = tensor(p.src);
    block.scale = quant_tensor(p.src, applies_scales(p) ? p.scale(ZEMM_ARG_SRC) : nullptr);
    block.batch_ndims = p.ndims() - 2;
    zemm_dim_t rows = block.m;
    for (int d = 0; d < block.batch_ndims; ++d) {
        block.batch_dims[d] = p.src.dims[d];
        rows *= block.batch_dims[d];
    }
    block.unit = !has_order(p, row) ? 1 : data_type_bits(p.wei.data_type) == 8 ? 4 : 8;
    reorder::plan result;
    result.kernel = "arrange_src";
    result.constants = {{SPEC_SRC_DT, uint32_t(p.src.data_type)},
                        {SPEC_SRC_SCALE_DT, uint32_t(block.scale.data_type)}};
    result.block = reorder::to_bytes(block);
    result.group_count = {work_groups(block.pitch, at_once, "K"), work_groups(rows, 1, "M"), 1};
    return result;
}

} // namespace zemm::matmul

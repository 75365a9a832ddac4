// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/src_copies.hpp"

#include "kernels/args/matmul_args.h"
#include "kernels/args/src_copy_args.h"
#include "matmul/plan/arguments.hpp"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

static_assert(sizeof(kernels::arrange_problem) ==
              8 * (3 + MATMUL_MAX_BATCH_NDIMS) + 2 * sizeof(kernels::tensor_arg) + 8);

constexpr zemm_dim_t at_once = 8; // elements of K that a work-item of arrange_src arranges

static_assert(sizeof(kernels::widen_problem) == 8 * (5 + 2 * (MATMUL_MAX_BATCH_NDIMS + 1)) + 8);

} // namespace

launch arrange_launch(const problem &asked, const arrangement &a, const operand &from, const operand &to) {
    kernels::arrange_problem block = {};
    block.m = asked.m();
    block.k = asked.k();
    block.pitch = a.problem.src.strides[asked.ndims() - 2];
    block.src = tensor(asked.src);
    block.scale = quant_tensor(asked.src, a.applies_scales ? asked.scale(ZEMM_ARG_SRC) : nullptr);
    block.batch_ndims = asked.ndims() - 2;
    zemm_dim_t rows = block.m;
    for (int d = 0; d < block.batch_ndims; ++d) {
        block.batch_dims[d] = asked.src.dims[d];
        rows *= block.batch_dims[d];
    }
    block.unit = a.unit;
    launch_plan result;
    result.kernel = "arrange_src";
    result.constants = {{SPEC_SRC_DT, uint32_t(asked.src.data_type)},
                        {SPEC_SRC_SCALE_DT, uint32_t(block.scale.data_type)}};
    result.block = to_bytes(block);
    result.group_count = {work_groups(block.pitch, at_once, "K"), work_groups(rows, 1, "M"), 1};
    return {.plan = std::move(result),
            .operands = {from, to, block_address, address_of(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC)}};
}

size_t widened_size(const facts &f) {
    const memory_desc &wide = f.run().src;
    // A row has two parts, of which the descriptor knows the first one.
    const zemm_dim_t row = f.splits_src ? wide.strides[wide.ndims - 2] : 0;
    return md_size(wide) + size_t(bytes_of(wide.data_type, row / 2));
}

launch widen_launch(const memory_desc &src, const memory_desc &wide, const operand &from, const operand &to) {
    // Elements that make a work-item worth its launch.
    const zemm_dim_t piece = src.data_type == wide.data_type ? 8192 : 1024;
    kernels::widen_problem block = {};
    const int column = src.ndims - 1;
    zemm_dim_t rows = 1;
    for (int d = 0; d < column; ++d) {
        block.dims[d] = src.dims[d];
        block.strides[d] = src.strides[d];
        rows *= src.dims[d];
    }
    block.ndims = column;
    block.k = src.dims[column];
    block.column = src.strides[column];
    block.offset0 = src.offset0;
    block.piece = piece;
    block.wide_row = wide.strides[column - 1];
    launch_plan plan;
    plan.kernel = "widen_src";
    plan.constants = {{SPEC_SRC_DT, uint32_t(src.data_type)}, {SPEC_DST_DT, uint32_t(wide.data_type)}};
    plan.block = to_bytes(block);
    plan.group_count = {work_groups(block.k, piece, "K"), work_groups(rows, 1, "M"), 1};
    return {.plan = std::move(plan), .operands = {from, to, block_address}};
}

} // namespace zemm::matmul

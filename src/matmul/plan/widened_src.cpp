// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/widened_src.hpp"

#include "kernels/args/matmul_args.h"
#include "kernels/args/widen_args.h"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

static_assert(sizeof(kernels::widen_problem) == 8 * (5 + 2 * (MATMUL_MAX_BATCH_NDIMS + 1)) + 8);

size_t widened_size(const facts &f) {
    const memory_desc &wide = f.run().src;
    // A row has two parts, of which the descriptor knows the first one.
    const zemm_dim_t row = f.splits_src ? wide.strides[wide.ndims - 2] : 0;
    return md_size(wide) + size_t(row / 2 * data_type_bits(wide.data_type) / 8);
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

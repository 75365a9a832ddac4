// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/widening.hpp"

#include "common/error.hpp"
#include "kernels/widen_args.h"
#include "matmul/choose/cpu_rules.hpp"
#include "primitive/launch.hpp"

namespace zemm::matmul {

namespace {

static_assert(sizeof(kernels::widen_problem) == 8 * (4 + 2 * (MATMUL_MAX_BATCH_NDIMS + 1)) + 8);

// The type of floats that the row multiplies.
zemm_data_type_t multiplied_type(const kernel_row &row) {
    if (row.multiplies == operands::f32)
        return zemm_f32;
    return row.traits().half_is_f16 ? zemm_f16 : zemm_bf16;
}

reorder::plan plan_move(const memory_desc &src, const memory_desc &wide) {
    constexpr zemm_dim_t piece = 1024; // elements that make a work-item worth its launch
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
    reorder::plan plan;
    plan.kernel = "widen_src";
    plan.constants = {{SPEC_SRC_DT, uint32_t(src.data_type)}, {SPEC_DST_DT, uint32_t(wide.data_type)}};
    plan.block = reorder::to_bytes(block);
    plan.group_count = {work_groups(block.k, piece, "K"), work_groups(rows, 1, "M"), 1};
    return plan;
}

} // namespace

std::shared_ptr<const src_widening> widen_first(const facts &f, const ze::device &dev) {
    if (f.empty || f.family.is_xe() || dev.kind != zemm_cpu || !is_small_float(f.run().src.data_type) ||
        !is_worth_widening(f))
        return nullptr;
    auto result = std::make_shared<src_widening>();
    problem wide = f.run();
    wide.src = md_with_strides(wide.ndims(), wide.src.dims, multiplied_type(*f.row), nullptr);
    const problem_facts of_problem = facts_of(wide);
    result->wide =
        facts_of(*f.row, of_problem, std::make_shared<const laid_out_problem>(wide, wide.wei, of_problem));
    result->move = plan_move(f.run().src, wide.src);
    return result;
}

} // namespace zemm::matmul

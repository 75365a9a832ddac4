// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/arranged_src.hpp"

#include "kernels/args/arrange_args.h"
#include "matmul/plan/arguments.hpp"
#include "primitive/launch_plan.hpp"

namespace zemm::matmul {

namespace {

static_assert(sizeof(kernels::arrange_problem) ==
              8 * (3 + MATMUL_MAX_BATCH_NDIMS) + 2 * sizeof(kernels::tensor_arg) + 8);

constexpr zemm_dim_t at_once = 8; // elements of K that a work-item of arrange_src arranges

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

} // namespace zemm::matmul

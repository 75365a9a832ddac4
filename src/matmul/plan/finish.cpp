// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/finish.hpp"

#include <cfloat>
#include <cmath>

#include "common/error.hpp"
#include "matmul/plan/arguments.hpp"
#include "primitive/launch.hpp"
#include "reorder/plan.hpp"

namespace zemm::matmul {

namespace {

using kernels::finish_problem;
using kernels::matmul_problem;

static_assert(sizeof(finish_problem) == sizeof(matmul_problem) + 8 + 8 + sizeof(kernels::tensor_arg) +
                                            4 * 10 + sizeof(kernels::reorder_tensor));
static_assert(sizeof(kernels::finish_arguments) == 8 * 9);

kernels::dynamic_scales dynamic_scales_of(const problem &p) {
    const quant_entry *scale = p.scale(ZEMM_ARG_DST);
    if (!scale || scale->mode == zemm_quantization_mode_static_sazp)
        return kernels::DYNAMIC_NONE;
    return scale->mode == zemm_quantization_mode_dynamic_mx ? kernels::DYNAMIC_MX : kernels::DYNAMIC_FP;
}

// An f32 dst keeps all bits of a result, but has no infinities and no subnormals then, as in oneDNN.
bool rounds_randomly(const problem &p) {
    return p.attr.rounding.contains(ZEMM_ARG_DST);
}

host_values finish_values(const problem &p) {
    values_of<kernels::finish_arguments> values;
    auto &v = values.fixed;
    if (rounds_randomly(p))
        values.set(v.rounding_seed, address_of(ZEMM_ARG_ATTR_ROUNDING_SEED));
    if (p.scale(ZEMM_ARG_DST))
        values.set(v.dst_scale, address_of(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST));
    if (!p.attr.has_dropout)
        return values.made();
    values.set(v.dropout_mask, address_of(ZEMM_ARG_ATTR_DROPOUT_MASK));
    if (p.attr.dropout_use_host_scalars) {
        values.set(v.host_probability, host_value(operand::host_f32, ZEMM_ARG_ATTR_DROPOUT_PROBABILITY));
        values.set(v.host_seed, host_value(operand::host_s64, ZEMM_ARG_ATTR_DROPOUT_SEED));
    } else {
        values.set(v.probability, address_of(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY));
        values.set(v.seed, address_of(ZEMM_ARG_ATTR_DROPOUT_SEED));
    }
    if (p.attr.dropout_use_offset && p.attr.dropout_use_host_scalars)
        values.set(v.host_offset, host_value(operand::host_s64, ZEMM_ARG_ATTR_DROPOUT_OFFSET));
    else if (p.attr.dropout_use_offset)
        values.set(v.offset, address_of(ZEMM_ARG_ATTR_DROPOUT_OFFSET));
    return values.made();
}

} // namespace

bool is_f64(const problem &p) {
    return p.src.data_type == zemm_f64;
}

bool needs_finish(const problem &p) {
    if (p.attr.has_dropout || rounds_randomly(p) || dynamic_scales_of(p) != kernels::DYNAMIC_NONE)
        return true;
    return is_f64(p) && (!p.attr.post_ops.entries.empty() || p.scale(ZEMM_ARG_DST));
}

launch finish_launch(const problem &p, const problem &caller, bool sums_are_f64, const operand &sums,
                     const operand &dst) {
    finish_problem block = {};
    block.matmul = make_epilogue_block(p);
    if (sums_are_f64)
        block.matmul.bias = tensor({});
    const float_facts facts = float_facts_of(p.dst.data_type);
    block.chunk = FINISH_COLUMNS;
    block.has_dropout = p.attr.has_dropout;
    block.dropout_mask = tensor(p.attr.dropout_mask);
    block.seed_is_s64 = p.attr.dropout_seed_dt == zemm_s64;
    block.random_on_host = p.attr.dropout_use_host_scalars;
    block.dynamic_scales = dynamic_scales_of(p);
    if (block.dynamic_scales != kernels::DYNAMIC_NONE)
        block.chunk = int32_t(p.scale(ZEMM_ARG_DST)->groups[1]);
    block.largest = facts.largest;
    block.largest_exponent = std::ilogb(facts.largest) + 127;
    if (rounds_randomly(p)) {
        block.dropped_bits = 24 - facts.digits;
        block.random_bits = data_type_bits(p.dst.data_type) == 16 ? 8 : 16;
        block.smallest = facts.smallest_normal;
        block.largest_rounded = is_integer(p.dst.data_type) ? FLT_MAX : facts.largest;
        if (!md_is_plain(caller.dst))
            block.blocked_dst = reorder::tensor_of(caller.dst);
    }
    constexpr zemm_dim_t worth = 1024; // columns that make a work-item worth its launch
    block.piece = worth;
    launch_plan plan;
    plan.kernel = sums_are_f64 ? "finish_dst_f64" : "finish_dst";
    plan.constants = {{SPEC_FLAGS, p.attr.post_ops.entries.empty() ? 0 : FLAG_POST_OPS}};
    plan.block = to_bytes(block);
    if (!p.empty())
        plan.group_count = {work_groups(p.n(), block.piece, "N"),
                            work_groups(p.batch() * p.m(), 1, "batch x M"), 1};
    return {.plan = std::move(plan),
            .operands = {sums, dst, block_address, first_values, second_values},
            .values = {values_of_problem(caller).made(), finish_values(caller)}};
}

launch f64_launch(const problem &p, const problem &caller, const ze::device &dev, const operand &dst) {
    if (!dev.has_f64)
        fail(zemm_unimplemented, "src f64: the device \"%s\" has no arithmetic in f64", dev.name.c_str());
    constexpr zemm_dim_t tile_rows = 32, tile_columns = 16; // as in matmul_f64.cl
    launch_plan plan;
    plan.kernel = "matmul_f64";
    plan.block = to_bytes(make_whole_block(p));
    if (!p.empty())
        plan.group_count = {work_groups(p.n(), tile_columns, "N"), work_groups(p.m(), tile_rows, "M"),
                            work_groups(p.batch(), 1, "the batch")};
    return {.plan = std::move(plan),
            .operands = {address_of(ZEMM_ARG_SRC), address_of(ZEMM_ARG_WEIGHTS), dst, block_address,
                         first_values},
            .values = {values_of_problem(caller).made()}};
}

} // namespace zemm::matmul

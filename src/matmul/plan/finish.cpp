// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/finish.hpp"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "common/error.hpp"
#include "matmul/plan/argument_block.hpp"
#include "primitive/launch.hpp"

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

} // namespace

bool is_f64(const problem &p) {
    return p.src.data_type == zemm_f64;
}

bool needs_finish(const problem &p) {
    if (p.attr.has_dropout || rounds_randomly(p) || dynamic_scales_of(p) != kernels::DYNAMIC_NONE)
        return true;
    return is_f64(p) && (!p.attr.post_ops.entries.empty() || p.scale(ZEMM_ARG_DST));
}

reorder::plan plan_finish(const problem &p, const memory_desc &dst, bool sums_are_f64) {
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
        if (!md_is_plain(dst))
            block.blocked_dst = reorder::tensor_of(dst);
    }
    constexpr zemm_dim_t worth = 1024; // columns that make a work-item worth its launch
    block.piece = worth;
    reorder::plan plan;
    plan.kernel = sums_are_f64 ? "finish_dst_f64" : "finish_dst";
    plan.constants = {{SPEC_FLAGS, p.attr.post_ops.entries.empty() ? 0 : FLAG_POST_OPS}};
    plan.block = reorder::to_bytes(block);
    if (!p.empty())
        plan.group_count = {work_groups(p.n(), block.piece, "N"),
                            work_groups(p.batch() * p.m(), 1, "batch x M"), 1};
    return plan;
}

reorder::plan plan_f64(const problem &p, const ze::device &dev) {
    if (!dev.has_f64)
        fail(zemm_unimplemented, "src f64: the device \"%s\" has no arithmetic in f64", dev.name.c_str());
    constexpr zemm_dim_t tile_rows = 32, tile_columns = 16; // as in matmul_f64.cl
    reorder::plan plan;
    plan.kernel = "matmul_f64";
    plan.block = reorder::to_bytes(make_whole_block(p));
    if (!p.empty())
        plan.group_count = {work_groups(p.n(), tile_columns, "N"), work_groups(p.m(), tile_rows, "M"),
                            work_groups(p.batch(), 1, "the batch")};
    return plan;
}

kernels::finish_arguments finish_values(const bound_arguments &b) {
    kernels::finish_arguments a = {};
    a.dropout_mask = b.address(ZEMM_ARG_ATTR_DROPOUT_MASK);
    a.probability = b.address(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
    a.seed = b.address(ZEMM_ARG_ATTR_DROPOUT_SEED);
    a.offset = b.address(ZEMM_ARG_ATTR_DROPOUT_OFFSET);
    a.rounding_seed = b.address(ZEMM_ARG_ATTR_ROUNDING_SEED);
    a.dst_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST);
    if (const void *probability = b.host_value(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY))
        std::memcpy(&a.host_probability, probability, sizeof a.host_probability);
    if (const void *seed = b.host_value(ZEMM_ARG_ATTR_DROPOUT_SEED)) {
        int32_t narrow;
        std::memcpy(&narrow, seed, sizeof narrow);
        a.host_seed = narrow;
        if (b.arguments.at(ZEMM_ARG_ATTR_DROPOUT_SEED).md.data_type == zemm_s64)
            std::memcpy(&a.host_seed, seed, sizeof a.host_seed);
    }
    if (const void *offset = b.host_value(ZEMM_ARG_ATTR_DROPOUT_OFFSET))
        std::memcpy(&a.host_offset, offset, sizeof a.host_offset);
    return a;
}

} // namespace zemm::matmul

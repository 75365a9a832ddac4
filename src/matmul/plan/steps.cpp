// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/steps.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/error.hpp"
#include "kernels/args/finish_args.h"
#include "matmul/plan/arguments.hpp"
#include "matmul/problem/packed_weights.hpp"
#include "matmul/problem/quantized_src.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/launches.hpp"
#include "reorder/plan.hpp"
#include "reorder/sparse.hpp"

namespace zemm::matmul {

namespace {

bool is_blocked(const memory_desc &md) {
    return md.ndims != 0 && md.format_kind == zemm_blocked && md.inner_nblks != 0;
}

// Kernels read tensors of post-ops without blocks, and no f64.
bool is_converted(const post_op &op) {
    return is_blocked(op.src1) || op.src1.data_type == zemm_f64 || is_blocked(op.src2);
}

bool has_float_src_zero_points(const problem &p) {
    return !p.integer() && p.zero_point(ZEMM_ARG_SRC);
}

bool is_f64(const problem &p) {
    return p.src.data_type == zemm_f64;
}

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
    if (!p.attr.dropout.is_on)
        return values.made();
    values.set(v.dropout_mask, address_of(ZEMM_ARG_ATTR_DROPOUT_MASK));
    if (p.attr.dropout.use_host_scalars) {
        values.set(v.host_probability, host_value(operand::host_f32, ZEMM_ARG_ATTR_DROPOUT_PROBABILITY));
        values.set(v.host_seed, host_value(operand::host_s64, ZEMM_ARG_ATTR_DROPOUT_SEED));
    } else {
        values.set(v.probability, address_of(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY));
        values.set(v.seed, address_of(ZEMM_ARG_ATTR_DROPOUT_SEED));
    }
    if (p.attr.dropout.use_offset && p.attr.dropout.use_host_scalars)
        values.set(v.host_offset, host_value(operand::host_s64, ZEMM_ARG_ATTR_DROPOUT_OFFSET));
    else if (p.attr.dropout.use_offset)
        values.set(v.offset, address_of(ZEMM_ARG_ATTR_DROPOUT_OFFSET));
    return values.made();
}

// Whether finish_dst has to turn the sums into dst.
bool needs_finish(const problem &p) {
    if (p.attr.dropout.is_on || rounds_randomly(p) || dynamic_scales_of(p) != kernels::DYNAMIC_NONE ||
        saturates(p.attr, p.dst.data_type))
        return true;
    return is_f64(p) && (!p.attr.post_ops.entries.empty() || p.scale(ZEMM_ARG_DST));
}

// The launch of finish_dst. p: with plain tensors. caller: the caller's problem, on whose layout of dst
// random numbers depend. sums_are_f64: matmul_f64 makes them, and adds the bias.
launch finish_launch(const problem &p, const problem &caller, bool sums_are_f64, const operand &sums,
                     const operand &dst) {
    finish_problem block = {};
    block.matmul = make_epilogue_block(p);
    if (sums_are_f64)
        block.matmul.bias = tensor({});
    const float_facts facts = float_facts_of(p.dst.data_type);
    block.chunk = FINISH_COLUMNS;
    block.has_dropout = p.attr.dropout.is_on;
    block.dropout_mask = tensor(p.attr.dropout.mask);
    block.seed_is_s64 = p.attr.dropout.seed_dt == zemm_s64;
    block.random_on_host = p.attr.dropout.use_host_scalars;
    block.dynamic_scales = dynamic_scales_of(p);
    if (block.dynamic_scales != kernels::DYNAMIC_NONE)
        block.chunk = int32_t(p.scale(ZEMM_ARG_DST)->groups[1]);
    block.largest = facts.largest;
    block.largest_exponent = std::ilogb(facts.largest) + 127;
    block.saturates = saturates(p.attr, p.dst.data_type);
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

// The launch of matmul_f64. Throws unimplemented if the device has no f64.
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

class maker {
public:
    maker(const problem &p, const ze::device &dev) : p_(p), dev_(dev) {}

    steps make() {
        made_.asked = made_.inner = p_;
        made_.inner.attr.scratchpad_mode = zemm_scratchpad_mode_user; // a part of this one's
        make_src_plain();
        if (p_.quantizes_src())
            quantize_src();
        if (is_f64(p_)) { // rows of kernels.def choose the layout, and read blocks, themselves
            md_resolve_any(made_.inner.wei);
            if (is_blocked(p_.wei))
                made_.inner.wei = convert(ZEMM_ARG_WEIGHTS, p_.wei);
        }
        if (is_blocked(p_.bias))
            made_.inner.bias = convert(ZEMM_ARG_BIAS, p_.bias);
        if (md_is_sparse(p_.wei))
            made_.inner.wei = make_dense(ZEMM_ARG_WEIGHTS, p_.wei);
        make_post_ops_plain();
        make_dst_plain();
        if (needs_finish(p_))
            finish_apart();
        if (is_f64(p_))
            made_.f64 = f64_launch(made_.inner, p_, dev_, place_of(ZEMM_ARG_DST)).within(made_.converted, 0);
        return std::move(made_);
    }

private:
    // Where the argument's data are: the caller's, or a plain tensor in the scratchpad.
    operand place_of(int arg) const {
        const auto found = made_.converted.find(arg);
        return found == made_.converted.end() ? address_of(arg) : found->second;
    }

    operand take(const memory_desc &md) { return in_scratchpad(made_.scratchpad.take(md_size(md))); }

    launch move_launch(const reorder::problem &move, int arg, const operand &from, const operand &to) {
        launch_plan plan;
        std::string why;
        const bool is_from_f64 = move.src.data_type == zemm_f64 && move.dst.data_type != zemm_f64;
        if (!(is_from_f64 ? reorder::plan_f64 : reorder::plan_any)(move, dev_, plan, why))
            fail(zemm_unimplemented, "%s cannot be converted from %s: %s", argument_name(arg).c_str(),
                 md_sentence(move.src).c_str(), why.c_str());
        return reorder::reorder_launch(std::move(plan), from, to, move);
    }

    // An argument may be converted twice: then the second launch reads what the first one has written.
    memory_desc convert(int arg, const reorder::problem &move) {
        const operand from = place_of(arg), to = take(move.dst);
        made_.before.push_back(move_launch(move, arg, from, to));
        made_.converted[arg] = to;
        return move.dst;
    }

    memory_desc convert(int arg, const memory_desc &md) { return convert(arg, md, md.data_type); }

    memory_desc convert(int arg, const memory_desc &md, zemm_data_type_t to) {
        reorder::problem move;
        move.src = md;
        move.dst = md_row_major(md, to);
        return convert(arg, move);
    }

    memory_desc make_dense(int arg, const memory_desc &md) {
        const memory_desc dense = reorder::dense_md(md);
        const operand to = take(dense);
        made_.before.push_back(reorder::densify_launch(md, arg, to));
        made_.converted[arg] = to;
        return dense;
    }

    // Zero points are subtracted on the way, which gives f32.
    void make_src_plain() {
        if (!has_float_src_zero_points(p_)) {
            if (is_blocked(p_.src))
                made_.inner.src = convert(ZEMM_ARG_SRC, p_.src);
            if (md_is_sparse(p_.src))
                made_.inner.src = make_dense(ZEMM_ARG_SRC, p_.src);
            return;
        }
        reorder::problem move;
        move.src = md_is_sparse(p_.src) ? make_dense(ZEMM_ARG_SRC, p_.src) : p_.src;
        move.dst = md_row_major(p_.src, zemm_f32);
        move.attr.zero_points[ZEMM_ARG_SRC] = *p_.zero_point(ZEMM_ARG_SRC);
        made_.inner.src = convert(ZEMM_ARG_SRC, move);
        made_.inner.attr.zero_points.erase(ZEMM_ARG_SRC);
        made_.inner.attr.fpmath_mode.mode = zemm_fpmath_mode_strict;
    }

    // The launch of the kernel quantize reads rows along K.
    void quantize_src() {
        problem &inner = made_.inner;
        const int column = inner.src.ndims - 1;
        if (inner.src.dims[column] > 1 && inner.src.strides[column] != 1)
            inner.src = convert(ZEMM_ARG_SRC, inner.src);
        constexpr int scales = ZEMM_ARG_ATTR_SCALES, sums = ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS;
        const quantized_src made = quantized_src_of(inner);
        reorder::problem move;
        move.src = inner.src;
        move.dst = made.values;
        move.attr.scales[ZEMM_ARG_DST] = made.scales;
        move.attr.scales[ZEMM_ARG_DST].mode = zemm_quantization_mode_dynamic_fp;
        if (inner.has_reduced_src())
            move.attr.reduced_range.insert(ZEMM_ARG_DST);
        const operand from = place_of(ZEMM_ARG_SRC), to = take(made.values);
        std::map<int, operand> results;
        const auto take_result = [&](int arg, const quant_entry &entry) {
            const operand at = take(md_of_quant(made.values, entry));
            results[arg | ZEMM_ARG_DST] = made_.converted[arg | ZEMM_ARG_SRC] = at;
        };
        take_result(scales, made.scales);
        if (made.sums) {
            move.attr.precomputed_reductions[ZEMM_ARG_DST] = *made.sums;
            take_result(sums, *made.sums);
        }
        launch_plan plan;
        std::string why;
        if (!reorder::plan_quantize(move, dev_, plan, why))
            fail(zemm_unimplemented, "src cannot be quantised: %s", why.c_str());
        made_.quantizing = {made_.before.size(), from};
        made_.before.push_back(reorder::reorder_launch(std::move(plan), from, to, move).within(results, 0));
        made_.converted[ZEMM_ARG_SRC] = to;
        inner = with_quantized_src(inner);
        if (move.src.offset0 == 0) // kernels do not know the offset of this src
            inner.quantized_from = move.src.data_type;
    }

    void make_post_ops_plain() {
        int index = 0;
        for (post_op &op : made_.inner.attr.post_ops.entries) {
            const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++);
            if (op.src1.data_type == zemm_f64)
                op.src1 = convert(base | ZEMM_ARG_SRC_1, op.src1, zemm_f32);
            else if (is_blocked(op.src1))
                op.src1 = convert(base | ZEMM_ARG_SRC_1, op.src1);
            if (is_blocked(op.src2))
                op.src2 = convert(base | ZEMM_ARG_SRC_2, op.src2);
        }
    }

    void make_dst_plain() {
        if (!is_blocked(p_.dst))
            return;
        const auto is_sum = [](const post_op &op) { return op.kind == zemm_sum; };
        reorder::problem move;
        move.src = md_row_major(p_.dst, p_.dst.data_type);
        move.dst = p_.dst;
        made_.inner.dst = move.src;
        if (std::ranges::any_of(p_.attr.post_ops.entries, is_sum)) // it reads dst
            convert(ZEMM_ARG_DST, p_.dst);
        else
            made_.converted[ZEMM_ARG_DST] = take(move.src);
        made_.after.push_back(
            move_launch(move, ZEMM_ARG_DST, place_of(ZEMM_ARG_DST), address_of(ZEMM_ARG_DST)));
    }

    // The matmul in the middle writes the sums; a launch of its own does what follows them.
    void finish_apart() {
        problem &inner = made_.inner;
        const operand dst = place_of(ZEMM_ARG_DST);
        const problem finished = inner;
        inner.dst = md_row_major(inner.dst, is_f64(p_) ? zemm_f64 : zemm_f32);
        const operand sums = take(inner.dst);
        launch finish = finish_launch(finished, p_, is_f64(p_), sums, dst);
        made_.after.insert(made_.after.begin(), finish.within(made_.converted, 0));
        made_.converted[ZEMM_ARG_DST] = sums;
        if (!is_f64(p_))
            inner.bias = {};
        inner.attr.dropout = {};
        inner.attr.saturation = false;
        inner.attr.post_ops = {};
        inner.attr.scales.erase(ZEMM_ARG_DST);
        inner.attr.zero_points.erase(ZEMM_ARG_DST);
        inner.attr.rounding.clear();
    }

    const problem &p_;
    const ze::device &dev_;
    steps made_ = {};
};

} // namespace

bool needs_steps(const problem &p) {
    return p.quantizes_src() || is_f64(p) || needs_finish(p) || has_float_src_zero_points(p) ||
           is_blocked(p.src) || md_is_sparse(p.src) || md_is_sparse(p.wei) || is_blocked(p.dst) ||
           is_blocked(p.bias) || std::ranges::any_of(p.attr.post_ops.entries, is_converted);
}

sequence steps::around(const sequence *inner, size_t inner_size, bool quantizes_src,
                       const ze::device &dev) const {
    if (asked.empty())
        return {};
    scratch whole = scratchpad;
    const size_t inner_at = whole.take(inner_size);
    sequence made;
    std::map<int, operand> operands = converted;
    std::vector<launch> first = before;
    if (quantizes_src) {
        operands[ZEMM_ARG_SRC] = quantizing->src;
        first.erase(first.begin() + ptrdiff_t(quantizing->at));
    }
    if (inner)
        made = inner->within(operands, inner_at);
    const size_t of_inner = made.launches().size();
    if (f64)
        made.add_last(*f64);
    for (size_t i = 0; i < first.size(); ++i)
        made.insert(i, first[i]);
    for (const launch &l : after)
        made.add_last(l);
    if (dev.kind == zemm_gpu)
        made.set_flags(gpu_build_flags(has_large(asked, whole.size())), of_inner);
    return made;
}

size_t steps::scratchpad_size(size_t inner_size) const {
    scratch whole = scratchpad;
    whole.take(inner_size);
    return whole.size();
}

steps make_steps(const problem &p, const ze::device &dev) {
    return maker(p, dev).make();
}

} // namespace zemm::matmul

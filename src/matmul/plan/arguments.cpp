// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/arguments.hpp"
#include "primitive/launch_plan.hpp"

#include "common/attr.hpp"

namespace zemm::matmul {

namespace {

// Says of each argument whether it may be dst.
void place(argument_map &map, const zemm_primitive_attr &attr) {
    for (auto &[arg, argument] : map)
        argument.placed = placement::apart;
    map[ZEMM_ARG_DST].placed = placement::any;
    if (const auto bias = map.find(ZEMM_ARG_BIAS); bias != map.end())
        bias->second.placed = placement::apart_or_dst;
    int index = 0;
    for (const post_op &op : attr.post_ops.entries) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++);
        for (int tensor : {ZEMM_ARG_WEIGHTS, ZEMM_ARG_SRC_1, ZEMM_ARG_SRC_2})
            if (const auto found = map.find(base | tensor); found != map.end())
                found->second.placed = is_in_place(op) ? placement::dst : placement::apart_or_dst;
    }
}

// The arguments of dropout and of stochastic rounding.
void add_random(argument_map &map, const zemm_primitive_attr &attr) {
    if (attr.rounding.contains(ZEMM_ARG_DST))
        add_number(map, ZEMM_ARG_ATTR_ROUNDING_SEED, zemm_s32, false);
    if (!attr.dropout.is_on)
        return;
    const bool on_host = attr.dropout.use_host_scalars;
    add_number(map, ZEMM_ARG_ATTR_DROPOUT_PROBABILITY, zemm_f32, on_host);
    add_number(map, ZEMM_ARG_ATTR_DROPOUT_SEED, attr.dropout.seed_dt, on_host);
    if (attr.dropout.use_offset)
        add_number(map, ZEMM_ARG_ATTR_DROPOUT_OFFSET, zemm_s64, on_host);
    if (!md_is_zero(attr.dropout.mask))
        map[ZEMM_ARG_ATTR_DROPOUT_MASK] = {attr.dropout.mask};
}

} // namespace

argument_map arguments_of(const problem &p, const memory_desc &scratchpad) {
    argument_map map;
    map[ZEMM_ARG_SRC] = {p.src};
    map[ZEMM_ARG_WEIGHTS] = {p.wei};
    map[ZEMM_ARG_DST] = {p.dst};
    if (p.has_bias())
        map[ZEMM_ARG_BIAS] = {p.bias};
    if (!md_is_zero(scratchpad))
        map[ZEMM_ARG_SCRATCHPAD] = {.md = scratchpad, .is_scratchpad = true};
    const auto tensor_of = [&](int arg) -> const memory_desc & { return p.tensor(arg); };
#define ZEMM_TENSOR_ATTRIBUTE(name, NAME, ...)                                                               \
    add_parameters(map, ZEMM_ARG_ATTR_##NAME, p.attr.name, tensor_of);
#include "lists/attributes.def"
    add_random(map, p.attr);
    int index = 0;
    for (const post_op &op : p.attr.post_ops.entries) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++);
        const post_op_operands operands = operands_of(op, p.dst);
        if (operands.src1_arg)
            map[base | operands.src1_arg] = {operands.src1};
        if (operands.src2_arg)
            map[base | operands.src2_arg] = {operands.src2};
    }
    place(map, p.attr);
    return map;
}

bool has_large(const problem &p, size_t scratchpad_size) {
    return is_large(p.src) || is_large(p.wei) || is_large(p.dst) || scratchpad_size > UINT32_MAX;
}

values_of<kernels::matmul_arguments> values_of_problem(const problem &p) {
    values_of<kernels::matmul_arguments> values;
    auto &v = values.fixed;
    const auto scale = [&](int arg, const uint64_t &tensor, float &value) {
        value = 1; // kernels scale by it all the same
        values.set(p.scale(arg), ZEMM_ARG_ATTR_SCALES | arg, tensor, value);
    };
    const auto zero_point = [&](int arg, const uint64_t &tensor, const int32_t &value) {
        const int flag = find_entry(p.attr.offsets, arg) ? ZEMM_ARG_ATTR_OFFSETS : ZEMM_ARG_ATTR_ZERO_POINTS;
        values.set(p.zero_point(arg), flag | arg, tensor, value);
    };
    if (p.has_bias())
        values.set(v.bias, address_of(ZEMM_ARG_BIAS));
    scale(ZEMM_ARG_SRC, v.src_scale, v.host_src_scale);
    scale(ZEMM_ARG_WEIGHTS, v.wei_scale, v.host_wei_scale);
    scale(ZEMM_ARG_DST, v.dst_scale, v.host_dst_scale);
    zero_point(ZEMM_ARG_SRC, v.src_zp, v.host_src_zp);
    zero_point(ZEMM_ARG_WEIGHTS, v.wei_zp, v.host_wei_zp);
    zero_point(ZEMM_ARG_DST, v.dst_zp, v.host_dst_zp);
    if (p.scale_factor())
        values.set(v.wei_scale_factor, address_of(ZEMM_ARG_ATTR_SCALE_FACTORS | ZEMM_ARG_WEIGHTS));
    if (p.offset_factor())
        values.set(v.wei_zp_factor, address_of(ZEMM_ARG_ATTR_OFFSET_FACTORS | ZEMM_ARG_WEIGHTS));
    if (p.reduction())
        values.set(v.reductions, address_of(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC));
    for (size_t i = 0; i < p.attr.post_ops.entries.size(); ++i) {
        const post_op_operands operands = operands_of(p.attr.post_ops.entries[i], p.dst);
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
        if (operands.src1_arg)
            values.set(v.post_op_src1[i], address_of(base | operands.src1_arg));
        if (operands.src2_arg)
            values.set(v.post_op_src2[i], address_of(base | operands.src2_arg));
    }
    return values;
}

namespace {

using kernels::matmul_problem;
using kernels::tensor_arg;

void fill_post_ops(const problem &p, matmul_problem &block) {
    for (const post_op &op : p.attr.post_ops.entries) {
        kernels::post_op_arg &arg = block.post_ops[block.post_ops_len++];
        const post_op_operands operands = operands_of(op, p.dst);
        arg = {};
        arg.alg = operands.alg;
        arg.zero_point = op.zero_point;
        arg.alpha = op.alpha;
        arg.beta = op.beta;
        arg.src1 = tensor(operands.src1);
        arg.src2 = tensor(operands.src2);
    }
}

} // namespace

tensor_arg tensor(const memory_desc &md) {
    tensor_arg t = {};
    t.row_group = t.column_group = 1;
    t.data_type = md.data_type;
    if (md.ndims == 0)
        return t;
    const int batch = md.ndims - 2;
    t.offset0 = md.offset0;
    for (int d = 0; d < batch; ++d)
        t.batch[d] = broadcast_stride(md, d);
    t.row = broadcast_stride(md, batch);
    t.column = broadcast_stride(md, batch + 1);
    return t;
}

tensor_arg quant_tensor(const memory_desc &md, const quant_entry *entry) {
    if (!entry)
        return tensor(memory_desc());
    tensor_arg t = tensor(md_of_quant(md, *entry));
    set_parameter(t, md, *entry);
    if (entry->is_on_host)
        t.data_type = 0;
    return t;
}

namespace {

// Factors of scales or offsets of the weights.
tensor_arg factor_tensor(const problem &p, const quant_entry *factors) {
    tensor_arg t = quant_tensor(p.wei, factors);
    if (factors)
        t.row_group = k_group(p, *factors, true);
    return t;
}

} // namespace

matmul_problem make_epilogue_block(const problem &p) {
    matmul_problem block = {};
    block.m = p.m();
    block.n = p.n();
    block.batch_ndims = p.ndims() - 2;
    for (int d = 0; d < block.batch_ndims; ++d)
        block.batch_dims[d] = p.dst.dims[d];
    block.dst = tensor(p.dst);
    block.bias = tensor(p.bias);
    block.dst_scale = quant_tensor(p.dst, p.scale(ZEMM_ARG_DST));
    block.dst_zp = quant_tensor(p.dst, p.zero_point(ZEMM_ARG_DST));
    fill_post_ops(p, block);
    return block;
}

matmul_problem make_whole_block(const problem &p) {
    matmul_problem block = make_epilogue_block(p);
    block.k = p.k();
    block.src = tensor(p.src);
    block.wei = tensor(p.wei);
    block.src_scale = quant_tensor(p.src, p.scale(ZEMM_ARG_SRC));
    block.wei_scale = quant_tensor(p.wei, p.scale(ZEMM_ARG_WEIGHTS));
    block.src_zp = quant_tensor(p.src, p.zero_point(ZEMM_ARG_SRC));
    block.wei_zp = quant_tensor(p.wei, p.zero_point(ZEMM_ARG_WEIGHTS));
    block.wei_scale_factor = factor_tensor(p, p.scale_factor());
    block.wei_zp_factor = factor_tensor(p, p.offset_factor());
    return block;
}

matmul_problem make_argument_block(const facts &f) {
    const problem &p = f.run();
    matmul_problem block = make_whole_block(p);
    block.segment = f.empty ? 1 : f.segment;
    block.rows = f.matrix_rows;
    block.grouping = p.grouped == grouping::rows ? kernels::ROW_GROUPS
                     : p.grouped == grouping::k  ? kernels::K_GROUPS
                                                 : kernels::NO_GROUPS;
    if (f.wei_reading == reading::packed)
        block.wei_panel = p.wei.strides[p.ndims() - 1];
    return block;
}

} // namespace zemm::matmul

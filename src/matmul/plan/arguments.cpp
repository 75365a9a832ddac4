// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/arguments.hpp"

namespace zemm::matmul {

namespace {

// The arguments of dropout and of stochastic rounding.
void add_random(argument_map &map, const zemm_primitive_attr &attr) {
    if (attr.rounding.contains(ZEMM_ARG_DST))
        add_number(map, ZEMM_ARG_ATTR_ROUNDING_SEED, zemm_s32, false);
    if (!attr.has_dropout)
        return;
    const bool on_host = attr.dropout_use_host_scalars;
    add_number(map, ZEMM_ARG_ATTR_DROPOUT_PROBABILITY, zemm_f32, on_host);
    add_number(map, ZEMM_ARG_ATTR_DROPOUT_SEED, attr.dropout_seed_dt, on_host);
    if (attr.dropout_use_offset)
        add_number(map, ZEMM_ARG_ATTR_DROPOUT_OFFSET, zemm_s64, on_host);
    if (!md_is_zero(attr.dropout_mask))
        map[ZEMM_ARG_ATTR_DROPOUT_MASK] = {attr.dropout_mask};
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
    add_parameters(map, ZEMM_ARG_ATTR_SCALES, p.attr.scales, tensor_of);
    add_parameters(map, ZEMM_ARG_ATTR_ZERO_POINTS, p.attr.zero_points, tensor_of);
    add_parameters(map, ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS, p.attr.precomputed_reductions, tensor_of);
    add_random(map, p.attr);
    int index = 0;
    for (const post_op &op : p.attr.post_ops.entries) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++);
        if (op.kind == zemm_prelu)
            map[base | ZEMM_ARG_WEIGHTS] = {prelu_md(p.dst, op.mask)};
        if (op.kind != zemm_binary)
            continue;
        map[base | ZEMM_ARG_SRC_1] = {op.src1};
        if (op.alg == zemm_binary_select)
            map[base | ZEMM_ARG_SRC_2] = {op.src2};
    }
    return map;
}

values_of<kernels::matmul_arguments> values_of_problem(const problem &p) {
    values_of<kernels::matmul_arguments> values;
    auto &v = values.fixed;
    const auto set = [&](const quant_entry *entry, const uint64_t &tensor, const auto &value, int arg,
                         operand::kind kind) {
        if (entry && entry->is_on_host)
            values.set(value, host_value(kind, arg));
        else if (entry)
            values.set(tensor, address_of(arg));
    };
    const auto scale = [&](int arg, const uint64_t &tensor, float &value) {
        value = 1; // kernels scale by it all the same
        set(p.scale(arg), tensor, value, ZEMM_ARG_ATTR_SCALES | arg, operand::host_f32);
    };
    const auto zero_point = [&](int arg, const uint64_t &tensor, const int32_t &value) {
        set(p.zero_point(arg), tensor, value, ZEMM_ARG_ATTR_ZERO_POINTS | arg, operand::host_zero_point);
    };
    if (p.has_bias())
        values.set(v.bias, address_of(ZEMM_ARG_BIAS));
    scale(ZEMM_ARG_SRC, v.src_scale, v.host_src_scale);
    scale(ZEMM_ARG_WEIGHTS, v.wei_scale, v.host_wei_scale);
    scale(ZEMM_ARG_DST, v.dst_scale, v.host_dst_scale);
    zero_point(ZEMM_ARG_SRC, v.src_zp, v.host_src_zp);
    zero_point(ZEMM_ARG_WEIGHTS, v.wei_zp, v.host_wei_zp);
    zero_point(ZEMM_ARG_DST, v.dst_zp, v.host_dst_zp);
    if (p.reduction())
        values.set(v.reductions, address_of(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC));
    for (size_t i = 0; i < p.attr.post_ops.entries.size(); ++i) {
        const post_op &op = p.attr.post_ops.entries[i];
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
        if (op.kind == zemm_prelu)
            values.set(v.post_op_src1[i], address_of(base | ZEMM_ARG_WEIGHTS));
        if (op.kind == zemm_binary)
            values.set(v.post_op_src1[i], address_of(base | ZEMM_ARG_SRC_1));
        if (op.kind == zemm_binary && op.alg == zemm_binary_select)
            values.set(v.post_op_src2[i], address_of(base | ZEMM_ARG_SRC_2));
    }
    return values;
}

} // namespace zemm::matmul

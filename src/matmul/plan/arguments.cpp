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

kernels::matmul_arguments arguments_by_value(const bound_arguments &b, const problem &p) {
    kernels::matmul_arguments a = {};
    a.bias = b.address(ZEMM_ARG_BIAS);
    a.src_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC);
    a.wei_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS);
    a.dst_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST);
    a.src_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_SRC);
    a.wei_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS);
    a.dst_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_DST);
    a.reductions = b.address(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC);
    a.host_src_scale = b.scale(ZEMM_ARG_SRC); // 1 if there is none: kernels scale by it all the same
    a.host_wei_scale = b.scale(ZEMM_ARG_WEIGHTS);
    a.host_dst_scale = b.scale(ZEMM_ARG_DST);
    a.host_src_zp = b.zero_point(ZEMM_ARG_SRC);
    a.host_wei_zp = b.zero_point(ZEMM_ARG_WEIGHTS);
    a.host_dst_zp = b.zero_point(ZEMM_ARG_DST);
    for (size_t i = 0; i < p.attr.post_ops.entries.size(); ++i) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
        const bool prelu = p.attr.post_ops.entries[i].kind == zemm_prelu;
        a.post_op_src1[i] = b.address(base | (prelu ? ZEMM_ARG_WEIGHTS : ZEMM_ARG_SRC_1));
        a.post_op_src2[i] = b.address(base | ZEMM_ARG_SRC_2);
    }
    return a;
}

} // namespace zemm::matmul

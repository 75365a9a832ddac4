// SPDX-License-Identifier: Apache-2.0
#include "matmul/arguments.hpp"

namespace zemm::matmul {

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

} // namespace zemm::matmul

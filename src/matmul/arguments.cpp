// SPDX-License-Identifier: Apache-2.0
#include "matmul/arguments.hpp"

#include "common/quant_md.hpp"

namespace zemm::matmul {

namespace {

void add_parameters(argument_map &map, const problem &p, const quant_map &entries, int flag) {
    for (const auto &[arg, entry] : entries) {
        const memory_desc md =
            entry.is_on_host ? md_host_scalar(entry.data_type) : md_of_quant(p.tensor(arg), entry);
        map[flag | arg] = {md, entry.is_on_host, true};
    }
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
    add_parameters(map, p, p.attr.scales, ZEMM_ARG_ATTR_SCALES);
    add_parameters(map, p, p.attr.zero_points, ZEMM_ARG_ATTR_ZERO_POINTS);
    add_parameters(map, p, p.attr.precomputed_reductions, ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS);
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

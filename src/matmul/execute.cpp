// SPDX-License-Identifier: Apache-2.0
#include "matmul/compiled.hpp"

namespace zemm::matmul {

namespace {

kernels::matmul_arguments by_value(const bound_arguments &b, const problem &p, const void *reductions) {
    kernels::matmul_arguments a = {};
    a.bias = b.address(ZEMM_ARG_BIAS);
    a.src_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC);
    a.wei_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS);
    a.dst_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST);
    a.src_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_SRC);
    a.wei_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS);
    a.dst_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_DST);
    a.reductions = reinterpret_cast<uint64_t>(reductions);
    a.host_src_scale = b.scale(ZEMM_ARG_SRC);
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

} // namespace

void primitive::run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                    std::span<const ze_event_handle_t> waits) const {
    const compiled &c = *compiled_;
    const auto &pd = static_cast<const primitive_desc &>(*this->pd);
    stream.keep(compiled_);
    const bound_arguments bound{memories};
    const plan &plan = c.plan;
    const void *src = bound.pointer(ZEMM_ARG_SRC), *wei = bound.pointer(ZEMM_ARG_WEIGHTS);
    const void *dst = bound.pointer(ZEMM_ARG_DST), *block = c.block->data();
    const void *reductions = bound.pointer(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC);
    if (plan.computes_reductions) {
        reductions = md_is_zero(pd.scratchpad) ? stream.scratchpad(plan.scratchpad_size)
                                               : bound.pointer(ZEMM_ARG_SCRATCHPAD);
        const ze::kernel_argument args[] = {
            {sizeof(void *), &src}, {sizeof(void *), &reductions}, {sizeof(void *), &block}};
        stream.launch(*c.reduce_src, {1, 1, 1}, plan.reduce_count, args, waits);
        waits = {};
    }
    const kernels::matmul_arguments values = by_value(bound, *pd.problem, reductions);
    const ze::kernel_argument args[] = {{sizeof(void *), &src},
                                        {sizeof(void *), &wei},
                                        {sizeof(void *), &dst},
                                        {sizeof(void *), &block},
                                        {sizeof(values), &values}};
    stream.launch(*c.matmul, {uint32_t(plan.row->group_x), 1, 1}, plan.group_count, args, waits);
}

} // namespace zemm::matmul

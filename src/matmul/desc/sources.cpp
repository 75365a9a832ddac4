// SPDX-License-Identifier: Apache-2.0
#include "matmul/desc/sources.hpp"

namespace zemm::matmul {

namespace {

// Kernels with GPU policies get a GPU's build flags on any engine, also on the CPU device.
bool is_for_gpu(const primitive_desc &pd) {
    return pd.engine->kind == zemm_gpu || pd.plan.row->is_xe();
}

// The build flags of a kernel. with_large_grf: its threads have 256 registers.
const char *build_flags(const primitive_desc &pd, bool with_large_grf = false) {
    if (!is_for_gpu(pd))
        return ""; // CPU drivers have no such flags
    const problem &p = pd.asked();
    const bool large =
        is_large(p.src) || is_large(p.wei) || is_large(p.dst) || pd.plan.scratchpad_size > UINT32_MAX;
    return gpu_build_flags(large, with_large_grf);
}

} // namespace

kernel_sources sources_of(const primitive_desc &pd) {
    kernel_sources result;
    if (pd.empty())
        return result;
    const plan &plan = pd.plan;
    const char *flags = build_flags(pd);
    const char *row_flags = build_flags(pd, plan.row->grf == 256);
    result.matmul = {plan.row->name, "matmul", plan.constants, row_flags};
    if (!plan.finish_constants.empty())
        result.finish = {plan.row->name, "matmul", plan.finish_constants, row_flags};
    if (plan.computes_reductions)
        result.reduce_src = {"reduce_src", "reduce_src", plan.reduce_constants, flags};
    if (plan.arrange.kernel)
        result.arrange_src = {plan.arrange.kernel, plan.arrange.kernel, plan.arrange.constants, flags};
    if (plan.pack.kernel)
        result.pack = {plan.pack.kernel, plan.pack.kernel, plan.pack.constants, flags};
    if (plan.widen.kernel)
        result.widen = {plan.widen.kernel, plan.widen.kernel, plan.widen.constants, flags};
    return result;
}

std::vector<ze::kernel_source> primitive_desc::sources() const {
    std::vector<ze::kernel_source> result;
    const kernel_sources all = sources_of(*this);
    for (const ze::kernel_source *source :
         {&all.matmul, &all.finish, &all.reduce_src, &all.arrange_src, &all.pack, &all.widen})
        if (source->name)
            result.push_back(*source);
    return result;
}

} // namespace zemm::matmul

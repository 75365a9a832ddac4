// SPDX-License-Identifier: Apache-2.0
#include "common/error.hpp"
#include "kernels/spirv.hpp"
#include "matmul/compiled.hpp"

namespace zemm::matmul {

namespace {

// GPUs that address a buffer by 32-bit offsets have to be told of larger ones. CPUs have no such flag.
const char *build_flags(const primitive_desc &pd) {
    const auto is_large = [](const memory_desc &md) { return md_size(md) > UINT32_MAX; };
    const problem &p = *pd.problem;
    const bool large =
        is_large(p.src) || is_large(p.wei) || is_large(p.dst) || pd.plan.scratchpad_size > UINT32_MAX;
    return large && pd.engine->kind == zemm_gpu ? "-ze-opt-greater-than-4GB-buffer-required" : "";
}

// Those of the matmul that reduce_src reads.
std::vector<ze::spec_constant> reduce_constants(const plan &plan) {
    std::vector<ze::spec_constant> result;
    for (const ze::spec_constant &c : plan.constants)
        if (c.id == SPEC_SRC_DT || c.id == SPEC_SRC_UNIT)
            result.push_back(c);
    return result;
}

std::shared_ptr<const compiled> build(const primitive_desc &pd) {
    auto result = std::make_shared<compiled>(pd.engine->device);
    result->plan = pd.plan;
    if (pd.problem->empty())
        return result;
    const plan &plan = result->plan;
    const char *flags = build_flags(pd);
    result->matmul =
        ze::get_kernel(result->device, kernels::find_spirv(plan.row->name), "matmul", plan.constants, flags);
    if (plan.computes_reductions)
        result->reduce_src = ze::get_kernel(result->device, kernels::find_spirv("reduce_src"), "reduce_src",
                                            reduce_constants(plan), flags);
    result->from_disk =
        result->matmul->from_disk() && (!result->reduce_src || result->reduce_src->from_disk());
    const ze::usm kind = result->device->host_pointers ? ze::usm::host : ze::usm::device;
    result->block = std::make_unique<ze::buffer>(result->device, sizeof(plan.block), kind);
    ze::copy_now(*result->device, result->block->data(), &plan.block, sizeof(plan.block));
    return result;
}

} // namespace

std::shared_ptr<const compiled> get_compiled(const primitive_desc &pd, cache_result &where) {
    const std::string key =
        text("matmul,%p,%s,", (void *)pd.engine->device.get(), pd.impl_name()) + problem_key(*pd.problem);
    auto found = find_cached(key);
    where = cache_result::hit;
    if (!found) {
        found = keep_cached(key, build(pd));
        where = found->from_disk ? cache_result::persistent_hit : cache_result::miss;
    }
    return std::static_pointer_cast<const compiled>(found);
}

} // namespace zemm::matmul

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
    result->from_disk = true;
    const auto get = [&](const char *name, const char *entry,
                         const std::vector<ze::spec_constant> &constants) {
        auto kernel = ze::get_kernel(result->device, kernels::find_spirv(name), entry, constants, flags);
        result->from_disk = result->from_disk && kernel->from_disk();
        return kernel;
    };
    result->matmul = get(plan.row->name, "matmul", plan.constants);
    result->block = ze::copy_for_kernels(result->device, &plan.block, sizeof(plan.block));
    if (!plan.finish_constants.empty())
        result->finish = get(plan.row->name, "matmul", plan.finish_constants);
    if (plan.computes_reductions)
        result->reduce_src = get("reduce_src", "reduce_src", reduce_constants(plan));
    if (plan.pack.kernel) {
        result->pack = get(plan.pack.kernel, plan.pack.kernel, plan.pack.constants);
        result->pack_block =
            ze::copy_for_kernels(result->device, plan.pack.block.data(), plan.pack.block.size());
    }
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

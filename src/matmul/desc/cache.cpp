// SPDX-License-Identifier: Apache-2.0
#include "kernels/spirv.hpp"
#include "matmul/desc/compiled.hpp"
#include "matmul/desc/sources.hpp"
#include "primitive/compiled.hpp"

namespace zemm::matmul {

namespace {

std::shared_ptr<const compiled> build(const primitive_desc &pd) {
    auto result = std::make_shared<compiled>(pd.engine->device);
    result->plan = pd.plan;
    if (pd.empty())
        return result;
    const plan &plan = result->plan;
    const kernel_sources sources = sources_of(pd);
    result->from_disk = true;
    const auto get = [&](const ze::kernel_source &source) {
        std::shared_ptr<ze::kernel> kernel;
        if (!source.name)
            return kernel;
        kernel = ze::get_kernel(result->device, kernels::find_spirv(source.name), source.entry,
                                source.constants, source.flags);
        result->from_disk = result->from_disk && kernel->from_disk();
        return kernel;
    };
    result->matmul = get(sources.matmul);
    result->argument_block =
        ze::copy_for_kernels(result->device, &plan.argument_block, sizeof(plan.argument_block));
    result->finish = get(sources.finish);
    result->reduce_src = get(sources.reduce_src);
    const auto change = [&](const ze::kernel_source &source, const reorder::plan &move) {
        compiled::change made = {get(source), nullptr};
        if (made.kernel)
            made.block = ze::copy_for_kernels(result->device, move.block.data(), move.block.size());
        return made;
    };
    result->arrange = change(sources.arrange_src, plan.arrange);
    result->pack = change(sources.pack, plan.pack);
    result->widen = change(sources.widen, plan.widen);
    return result;
}

} // namespace

std::unique_ptr<zemm_primitive> primitive_desc::create(cache_result &found) const {
    auto shared = get_compiled(*this, found, [&] { return build(*this); });
    return std::make_unique<primitive>(clone(), std::static_pointer_cast<const compiled>(std::move(shared)));
}

} // namespace zemm::matmul

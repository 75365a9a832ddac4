// SPDX-License-Identifier: Apache-2.0
#include "reorder/helper.hpp"

#include "kernels/spirv.hpp"

namespace zemm::reorder {

ze::kernel_source source_of(const plan &plan, const char *flags) {
    return {plan.kernel, plan.kernel, plan.constants, flags};
}

helper make_helper(const std::shared_ptr<ze::device> &dev, const plan &plan, const char *flags) {
    helper h;
    h.kernel = ze::get_kernel(dev, kernels::find_spirv(plan.kernel), plan.kernel, plan.constants, flags);
    h.block = ze::copy_for_kernels(dev, plan.block.data(), plan.block.size());
    h.plan = plan;
    return h;
}

void launch(ze::stream &stream, const helper &h, std::span<const ze::kernel_argument> arguments,
            std::span<const ze_event_handle_t> waits) {
    stream.launch(*h.kernel, h.plan.group_size, h.plan.group_count, arguments, waits);
}

} // namespace zemm::reorder

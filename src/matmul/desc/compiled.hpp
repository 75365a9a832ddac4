// SPDX-License-Identifier: Apache-2.0
// What primitives share through the primitive cache: a plan, its kernels and its argument block on
// the device. The primitive that runs them.
#pragma once

#include "matmul/desc/primitive_desc.hpp"
#include "matmul/plan/group_table.hpp"
#include "primitive/primitive_cache.hpp"

namespace zemm::matmul {

struct compiled : cached {
    using cached::cached;
    struct plan plan;
    std::shared_ptr<ze::kernel> matmul;         // nullptr for an empty problem
    std::shared_ptr<ze::kernel> reduce_src;     // nullptr unless the plan computes reductions
    std::shared_ptr<ze::kernel> finish;         // nullptr unless K is split
    std::unique_ptr<ze::buffer> argument_block; // plan.argument_block on the device
    // Those that change an operand before the matmul. kernel is nullptr unless the plan has such a step.
    struct change {
        std::shared_ptr<ze::kernel> kernel;
        std::unique_ptr<ze::buffer> block; // its plan's block on the device
    } pack, widen, arrange;
};

class primitive : public static_primitive {
public:
    primitive(std::unique_ptr<const zemm_primitive_desc> pd, std::shared_ptr<const compiled> c)
        : static_primitive(std::move(pd)), compiled_(std::move(c)) {}

    void run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const values *,
             std::span<const ze_event_handle_t> waits) const override {
        submit(stream, memories, nullptr, waits);
    }
    // The same for a grouped matmul, with the table of its groups.
    void submit(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const group_table *groups,
                std::span<const ze_event_handle_t> waits) const;
    const struct plan &plan() const { return compiled_->plan; }

private:
    const std::shared_ptr<const compiled> compiled_;
};

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// What primitives share through the primitive cache: a plan, its kernels and its argument block on
// the device. The primitive that runs them.
#pragma once

#include "matmul/primitive_desc.hpp"
#include "primitive/primitive_cache.hpp"

namespace zemm::matmul {

struct compiled : cached {
    using cached::cached;
    struct plan plan;
    std::shared_ptr<ze::kernel> matmul;         // nullptr for an empty problem
    std::shared_ptr<ze::kernel> reduce_src;     // nullptr unless the plan computes reductions
    std::shared_ptr<ze::kernel> finish;         // nullptr unless K is split
    std::unique_ptr<ze::buffer> argument_block; // plan.argument_block on the device
    std::shared_ptr<ze::kernel> pack;           // nullptr unless the plan packs the weights
    std::unique_ptr<ze::buffer> pack_block;     // plan.pack.block on the device
};

class primitive : public static_primitive {
public:
    primitive(std::unique_ptr<const zemm_primitive_desc> pd, std::shared_ptr<const compiled> c)
        : static_primitive(std::move(pd)), compiled_(std::move(c)) {}

    void run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
             std::span<const ze_event_handle_t> waits) const override;

private:
    const std::shared_ptr<const compiled> compiled_;
};

} // namespace zemm::matmul

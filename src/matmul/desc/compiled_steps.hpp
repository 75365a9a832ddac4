// SPDX-License-Identifier: Apache-2.0
// The primitive of a matmul in steps, and what primitives share through the primitive cache: kernels of
// the helpers and their argument blocks on the device.
#pragma once

#include "matmul/desc/steps_desc.hpp"
#include "reorder/helper.hpp"

namespace zemm::matmul {

using reorder::helper;

struct compiled_steps : cached {
    using cached::cached;
    std::vector<helper> before;
    helper multiply_f64, finish, after;
};

class steps_primitive : public static_primitive {
public:
    // inner: the matmul in the middle; nullptr for f64.
    steps_primitive(std::unique_ptr<const zemm_primitive_desc> pd, std::shared_ptr<const compiled_steps> c,
                    std::unique_ptr<const zemm_primitive> inner)
        : static_primitive(std::move(pd)), compiled_(std::move(c)), inner_(std::move(inner)) {}

    std::unique_ptr<const values> read_values(ze::stream &stream,
                                              const std::map<int, zemm_memory_t> &memories,
                                              std::span<const ze_event_handle_t> waits) const override;
    void run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const values *read,
             std::span<const ze_event_handle_t> waits) const override;

private:
    const std::shared_ptr<const compiled_steps> compiled_;
    const std::unique_ptr<const zemm_primitive> inner_;
};

} // namespace zemm::matmul

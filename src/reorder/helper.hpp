// SPDX-License-Identifier: Apache-2.0
// A launch that is a step of a primitive: its kernel, and its argument block on the device.
#pragma once

#include "reorder/plan.hpp"
#include "ze/buffer.hpp"
#include "ze/module.hpp"
#include "ze/stream.hpp"

namespace zemm::reorder {

struct helper {
    std::shared_ptr<ze::kernel> kernel; // nullptr if there is no such step
    std::unique_ptr<ze::buffer> block;
    struct plan plan;
};

ze::kernel_source source_of(const plan &plan, const char *flags);
helper make_helper(const std::shared_ptr<ze::device> &dev, const plan &plan, const char *flags);

void launch(ze::stream &stream, const helper &h, std::span<const ze::kernel_argument> arguments,
            std::span<const ze_event_handle_t> waits);

} // namespace zemm::reorder

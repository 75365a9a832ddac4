// SPDX-License-Identifier: Apache-2.0
// What primitives share through the primitive cache: a plan, its kernels and its argument block on the
// device.
#pragma once

#include <map>
#include <memory>

#include "common/objects.hpp"
#include "matmul/primitive_desc.hpp"

namespace zemm::matmul {

struct compiled {
    std::shared_ptr<ze::device> device;
    struct plan plan;
    std::shared_ptr<ze::kernel> matmul;     // nullptr for an empty problem
    std::shared_ptr<ze::kernel> reduce_src; // nullptr unless the plan computes reductions
    std::unique_ptr<ze::buffer> block;      // plan.block on the device
};

// From the cache, or built and put there. hit says which.
std::shared_ptr<const compiled> get_compiled(const zemm_primitive_desc &pd, bool &hit);

// Drops the cache's entries of a device whose context is about to go.
void forget(const ze::device &device);

// Submits an execution with checked arguments; the stream keeps what it uses until it is waited for.
void run(const std::shared_ptr<const compiled> &c, const zemm_primitive_desc &pd, ze::stream &stream,
         const std::map<int, zemm_memory_t> &memories, std::span<const ze_event_handle_t> waits);

} // namespace zemm::matmul

struct zemm_primitive {
    zemm_primitive_desc pd;
    std::shared_ptr<const zemm::matmul::compiled> compiled;
};

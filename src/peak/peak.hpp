// SPDX-License-Identifier: Apache-2.0
// Measures the highest rates of a device with kernels that do nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ze/device.hpp"
#include "zemm/zemm_types.h"

namespace zemm::peak {

// A kernel that only multiplies.
struct product_loop {
    zemm_peak_t what;
    const char *module;               // and its entry
    std::optional<ze::feature> needs; // of the device: without it the module cannot be built
    bool has_tiles;                   // of AMX
    int lanes;                        // on GPUs, in sub-groups of this size; 0: on CPUs
    int64_t steps;                    // of a work-item: a launch takes some milliseconds
    double adds;                      // multiply-adds of a work-item, or of a sub-group, in a step
};

// Kernels for a unit have the fastest instructions first.
std::span<const product_loop> product_loops();

// Returns operations or bytes per second: the best of several runs by the device's timestamps.
// Throws unimplemented if the device lacks the instructions that the kernel uses, or has them in software.
double measure(const std::shared_ptr<ze::device> &device, zemm_peak_t what);

} // namespace zemm::peak

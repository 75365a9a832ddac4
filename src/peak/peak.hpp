// SPDX-License-Identifier: Apache-2.0
// Measures the highest rates of a device with kernels that do nothing else.
#pragma once

#include <memory>

#include "ze/device.hpp"
#include "zemm/zemm_types.h"

namespace zemm::peak {

// Returns operations or bytes per second: the best of several runs by the device's timestamps.
// Throws unimplemented if the device is not a CPU or lacks the instructions that the kernel uses.
double measure(const std::shared_ptr<ze::device> &device, zemm_peak_t what);

} // namespace zemm::peak

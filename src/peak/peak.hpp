// SPDX-License-Identifier: Apache-2.0
// The limits of a device, measured on it by kernels that do nothing else.
#pragma once

#include <memory>

#include "ze/device.hpp"
#include "zemm/zemm_types.h"

namespace zemm::peak {

// Operations or bytes per second, the best of several runs by the device's timestamps. Throws unimplemented
// where the device lacks what the kernel is made of.
double measure(const std::shared_ptr<ze::device> &device, zemm_peak_t what);

} // namespace zemm::peak

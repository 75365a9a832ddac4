// SPDX-License-Identifier: Apache-2.0
// A src of 8-bit and 4-bit floats becomes wider before the matmul runs, once for all tiles, where that is
// less work than converting it in each tile.
#pragma once

#include <memory>

#include "matmul/choose/facts.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

struct src_widening {
    facts wide; // of the problem that the kernel then runs
};

// nullptr if the row reads src as it is. f: of the problem with the weights as the row reads them.
std::shared_ptr<const src_widening> widen_first(const facts &f, const ze::device &dev);

} // namespace zemm::matmul

// SPDX-License-Identifier: Apache-2.0
// Cache blobs of primitives: the native binaries of a primitive's modules, for a program that keeps
// them itself. A blob is a sequence of the disk cache's entries, one for each module. It is empty if
// there is nothing to compute.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "primitive/primitive_desc.hpp"

namespace zemm {

// Names all that a blob depends on: the modules, the device and its driver. Primitives with equal
// ids have the same blob.
std::string cache_blob_id(const zemm_primitive_desc &pd);

// The blob of a primitive with this descriptor. The modules are those of the device's cache.
std::vector<uint8_t> make_cache_blob(const zemm_primitive_desc &pd);

// Loads the modules of the descriptor's implementation from a blob. Throws invalid_arguments if the
// blob is damaged, or does not have all of them for this device and driver.
void load_cache_blob(const zemm_primitive_desc &pd, std::span<const uint8_t> blob);

} // namespace zemm

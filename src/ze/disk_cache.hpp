// SPDX-License-Identifier: Apache-2.0
// Built modules on disk, so that other processes need not build them: native binaries of the driver by all
// that they are made of. Nothing that is not whole, and of exactly the key asked for, is handed out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ze/device.hpp"
#include "ze/module.hpp"

namespace zemm::ze::disk_cache {

bool enabled();

// The SPIR-V, its constants and flags, the device and its driver.
std::string key_of(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                   const char *flags);

// The binary kept for a key; nothing if there is none. A file that is damaged is told of in the log.
std::optional<std::vector<uint8_t>> load(const std::string &key);
// Keeps it, in place of what there may be. What cannot be written is told of in the log. Throws bad_alloc
// only.
void store(const std::string &key, std::span<const uint8_t> binary);

} // namespace zemm::ze::disk_cache

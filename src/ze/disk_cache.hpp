// SPDX-License-Identifier: Apache-2.0
// The disk cache: keeps the driver's native binaries of modules for other processes. The key names
// what a binary was built from. load() returns a binary only if its file is undamaged and has
// exactly that key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ze/device.hpp"
#include "ze/module_source.hpp"

namespace zemm::ze::disk_cache {

// False if there is no usable folder, see cache_folder.
bool enabled();

// The key of a module: a hash of the SPIR-V, constants, build flags, and the device's identity.
std::string key_of(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                   const char *flags);

// An entry: a binary with its key and a checksum. Files of the cache and cache blobs consist of
// entries.
std::vector<uint8_t> make_entry(const std::string &key, std::span<const uint8_t> binary);
struct entry {
    std::string_view key;
    std::span<const uint8_t> binary;
    size_t size; // of the whole entry, in bytes
};
// Reads the entry at the beginning of bytes, to which its members then point. Returns "", or the
// reason why it cannot be used.
const char *read_entry(std::span<const uint8_t> bytes, entry &result);

// The binary for a key, if there is one. A damaged or foreign file counts as none, with a warning
// in the log.
std::optional<std::vector<uint8_t>> load(const std::string &key);
// Stores the binary for a key and replaces an older one. If that fails, the log has a warning.
// Throws only bad_alloc.
void store(const std::string &key, std::span<const uint8_t> binary);

} // namespace zemm::ze::disk_cache

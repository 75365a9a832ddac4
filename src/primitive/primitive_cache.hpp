// SPDX-License-Identifier: Apache-2.0
// The primitive cache: what primitives of equal problems share. Least recently used entries leave when there
// are more than its capacity.
#pragma once

#include <memory>
#include <string>

#include "ze/device.hpp"

namespace zemm {

// Where a primitive's kernels were, as the log says it.
enum class cache_result { miss, persistent_hit, hit };

struct cached {
    explicit cached(std::shared_ptr<ze::device> dev) : device(std::move(dev)) {}
    virtual ~cached() = default;
    const std::shared_ptr<ze::device> device;
    bool from_disk = false; // no kernel had to be built: all came from the disk cache
};

// nullptr when there is no such entry.
std::shared_ptr<const cached> find_cached(const std::string &key);
// Keeps, and returns, the first of two that were built at the same time.
std::shared_ptr<const cached> keep_cached(const std::string &key, std::shared_ptr<const cached> value);
// Drops the entries of a device whose context is about to go.
void forget_cached(const ze::device &device);

} // namespace zemm

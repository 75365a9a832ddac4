// SPDX-License-Identifier: Apache-2.0
// The primitive cache: keeps the parts that primitives of equal problems share. Beyond its
// capacity, it drops the least recently used ones.
#pragma once

#include <memory>
#include <string>

#include "ze/device.hpp"

namespace zemm {

// Where the kernels of a new primitive came from, the slowest first. The log shows it.
enum class cache_result { miss, persistent_hit, hit };

// An entry of the cache. Each kind of primitive derives its own.
struct cached {
    explicit cached(std::shared_ptr<ze::device> dev) : device(std::move(dev)) {}
    virtual ~cached() = default;
    const std::shared_ptr<ze::device> device;
    bool from_disk = false; // no kernel was built: all came from the disk cache
};

// The entry with the key; nullptr if there is none.
std::shared_ptr<const cached> find_cached(const std::string &key);
// Adds an entry and returns it. If two threads built it at the same time, keeps the first one and
// returns it to both.
std::shared_ptr<const cached> keep_cached(const std::string &key, std::shared_ptr<const cached> value);
// The number of entries.
size_t count_cached();
// Drops the entries of a device whose context may be destroyed next.
void forget_cached(const ze::device &device);

} // namespace zemm
